/** The recorded traffic in `test/celery/recordings`, and the known data of every task in it. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { CelerySettings } from '../../src/celery.ts';

/** One published message as Redis saw it. */
export interface Published {
  readonly t: number;
  readonly channel: string;
  readonly message: string;
}

/** What the submitting client knows about a task. */
export interface Truth {
  readonly case: string;
  readonly id: string;
  readonly name: string;
  readonly expected_state: string;
  readonly parent: string | null;
  readonly root: string;
  readonly group: string | null;
  /** The body of the chord that it is a header task of. */
  readonly chord_body?: string | null;
  readonly role: string;
  readonly header?: readonly string[];
  readonly replaced_by?: string | null;
  readonly no_backend?: boolean;
  readonly celery_event_state: string | null;
  readonly client_state?: string;
  readonly client_result?: string;
  readonly worker_ctx: readonly {
    readonly hostname: string;
    readonly retries: number;
    readonly root_id: string;
    readonly parent_id: string | null;
    readonly group: string | null;
    readonly chord_body: string | null;
  }[];
}

/** A key of Redis at some moment of a run. Values that are not UTF-8 are `{ base64 }`. */
export interface DumpedKey {
  /** `<run>:midflight` or `<run>:after…` */
  readonly label: string;
  readonly at: number;
  readonly db: number;
  readonly key: string;
  readonly type: 'string' | 'list' | 'set' | 'hash' | 'zset';
  readonly value: unknown;
}

/** A run: its configuration, its messages by time, its tasks. */
export interface Recording {
  readonly name: string;
  readonly database: number;
  readonly settings: CelerySettings;
  /** Whether the result backend's publications were recorded too. */
  readonly hasResults: boolean;
  readonly messages: readonly Published[];
  readonly tasks: readonly Truth[];
  /** All keys, in the middle of the run and behind it. */
  readonly keys: readonly DumpedKey[];
}

const FOLDER = new URL('../celery/recordings/', import.meta.url);

function read(file: string): string {
  return gunzipSync(readFileSync(new URL(`${file}.gz`, FOLDER))).toString('utf8');
}

/** The lines of one recorded file, such as `control-A.jsonl`. */
export function readLines<T>(file: string): T[] {
  return read(file)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

function load(name: string, database: number, settings: CelerySettings, hasResults: boolean): Recording {
  const messages = [
    ...readLines<Published>(`events-${name}.jsonl`),
    ...(hasResults ? readLines<Published>(`resultpub-${name}.jsonl`) : []),
  ].sort((a, b) => a.t - b.t);
  const { tasks } = JSON.parse(read(`truth-${name}.json`)) as { tasks: Truth[] };
  const keys = readLines<DumpedKey>(`redis-dump-${name}.jsonl`);
  return { name, database, settings, hasResults, messages, tasks, keys };
}

/** Every recorded run. */
export const RECORDINGS: readonly Recording[] = [
  load('A1', 0, {}, true),
  load('A2', 1, { broker_transport_options: { global_keyprefix: 'shop:' } }, false),
  load('A3', 3, {}, false),
  load(
    'A4',
    7,
    {
      event_exchange: 'labev',
      control_exchange: 'ctl',
      broker_transport_options: { fanout_patterns: false },
    },
    true,
  ),
];

/** The events in a message; none when it is a result or a control message. */
export function eventsIn({ channel, message }: Published): Record<string, unknown>[] {
  if (channel.includes('pidbox') || channel.includes('-meta-')) return [];
  const { body } = JSON.parse(message) as { body: string };
  const decoded: unknown = JSON.parse(Buffer.from(body, 'base64').toString('utf8'));
  return (Array.isArray(decoded) ? decoded : [decoded]) as Record<string, unknown>[];
}

/**
 * The same events, moved in time: the last one is of now. Workers announce so few heartbeats that none of them is missing
 * while a test runs.
 */
export function untilNow<Event extends { readonly timestamp?: unknown }>(events: readonly Event[]): Event[] {
  const seconds = Date.now() / 1_000 - Math.max(...events.map(({ timestamp }) => Number(timestamp)));
  return events.map((event) => ({
    ...event,
    timestamp: Number(event.timestamp) + seconds,
    ...('freq' in event && { freq: 600 }),
  }));
}

/** The stored result in a message; numbers that JSON does not know are `null`. */
export function resultIn({ channel, message }: Published): Record<string, unknown> | null {
  if (!channel.startsWith('celery-task-meta-')) return null;
  return JSON.parse(message.replace(/(?<=[[ ])(?:NaN|-?Infinity)(?=[\],])/g, 'null')) as Record<
    string,
    unknown
  >;
}

/** A small generator of repeatable numbers from 0 to 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The items in a random order. */
export function inAnyOrder<T>(items: readonly T[], random: () => number): T[] {
  const out = [...items];
  for (let at = out.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [out[at], out[other]] = [out[other] as T, out[at] as T];
  }
  return out;
}

/** Who sent a message: each process, and for results each task, keeps the order of its own messages. */
function senderOf(published: Published): string {
  const event = eventsIn(published)[0];
  return event === undefined ? published.channel : `${event.hostname}/${event.pid}`;
}

/**
 * The messages in another order, in which only the messages of one sender keep theirs.
 *
 * @param how `mixed`: any sender's next message at each place; `blocks`: one sender after the other
 */
export function shuffled(messages: readonly Published[], seed: number, how: 'mixed' | 'blocks'): Published[] {
  const random = randomOf(seed);
  const streams = new Map<string, Published[]>();
  for (const message of messages) {
    const sender = senderOf(message);
    const stream = streams.get(sender);
    if (stream === undefined) streams.set(sender, [message]);
    else stream.push(message);
  }
  const out: Published[] = [];
  const left = [...streams.values()].map((stream) => ({ stream, at: 0 }));
  while (left.length > 0) {
    const index = Math.floor(random() * left.length);
    const next = left[index];
    if (next === undefined) break;
    const count = how === 'blocks' ? next.stream.length : 1;
    out.push(...next.stream.slice(next.at, next.at + count));
    next.at += count;
    if (next.at >= next.stream.length) left.splice(index, 1);
  }
  return out;
}
