/** The recorded traffic in `test/celery/recordings`, and what is known of every task in it. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { CelerySettings } from '../../src/celery.ts';

/** One published message as Redis saw it. */
export interface Published {
  readonly t: number;
  readonly channel: string;
  readonly message: string;
}

/** What the submitting client knows of a task. */
export interface Truth {
  readonly case: string;
  readonly id: string;
  readonly name: string;
  readonly expected_state: string;
  readonly parent: string | null;
  readonly root: string;
  readonly group: string | null;
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
  }[];
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
}

const FOLDER = new URL('../celery/recordings/', import.meta.url);

function read(file: string): string {
  return gunzipSync(readFileSync(new URL(`${file}.gz`, FOLDER))).toString('utf8');
}

function lines(file: string): Published[] {
  return read(file)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Published);
}

function load(name: string, database: number, settings: CelerySettings, hasResults: boolean): Recording {
  const messages = [
    ...lines(`events-${name}.jsonl`),
    ...(hasResults ? lines(`resultpub-${name}.jsonl`) : []),
  ];
  const { tasks } = JSON.parse(read(`truth-${name}.json`)) as { tasks: Truth[] };
  return { name, database, settings, hasResults, messages: messages.sort((a, b) => a.t - b.t), tasks };
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

/** What a recording tells of one task. Times in milliseconds; `null` where nothing tells. */
export interface Told {
  readonly name: string | null;
  /** `null`: nothing was published about this task. */
  readonly state: string | null;
  readonly worker: string | null;
  readonly queue: string | null;
  readonly retries: number | null;
  /** `undefined`: no event tells them. */
  readonly args: string | undefined;
  readonly kwargs: string | undefined;
  readonly eta: number | null;
  readonly sent: number | null;
  readonly received: number | null;
  /** `undefined`: only the result backend says that it started, without a time. */
  readonly started: number | null | undefined;
  readonly finished: number | null;
  readonly runtime: number | null;
  /** Text that the result must begin with. */
  readonly result: string | null;
  readonly parent: readonly (string | null)[];
  readonly root: readonly (string | null)[];
}

const ENDS = new Set(['task-succeeded', 'task-failed', 'task-revoked', 'task-rejected']);

/**
 * What every task of a recording must look like, worked out from the messages in their recorded order
 * and from what the client knows: simply, since here nothing is late or twice.
 */
export function whatIsTold(recording: Recording): Map<string, Told> {
  const events = new Map<string, Record<string, unknown>[]>();
  const metas = new Map<string, Record<string, unknown>[]>();
  const add = (map: typeof events, id: unknown, item: Record<string, unknown>): void => {
    map.set(String(id), [...(map.get(String(id)) ?? []), item]);
  };
  for (const published of recording.messages) {
    for (const event of eventsIn(published)) if (event.uuid !== undefined) add(events, event.uuid, event);
    const meta = resultIn(published);
    if (meta !== null) add(metas, meta.task_id, meta);
  }
  const told = new Map<string, Told>();
  for (const task of recording.tasks) {
    told.set(task.id, tellOf(task, recording, events.get(task.id) ?? [], metas.get(task.id) ?? []));
  }
  return told;
}

function tellOf(
  task: Truth,
  recording: Recording,
  events: Record<string, unknown>[],
  metas: Record<string, unknown>[],
): Told {
  const time = (type: string): number | null => {
    const last = events.filter((event) => event.type === type).at(-1);
    return last === undefined ? null : Number(last.timestamp) * 1000;
  };
  const received = time('task-received');
  const lastRun = events.filter((event) => Number(event.timestamp) * 1000 >= (received ?? 0));
  const end = lastRun.filter((event) => ENDS.has(String(event.type)) && event.requeue !== true).at(-1);
  const started = lastRun.filter((event) => event.type === 'task-started').at(-1);
  const meta = metas.at(-1);
  const stored = metas.filter((item) => typeof item.date_done === 'string').at(-1);
  const byWorker = events.filter((event) => event.type !== 'task-sent');
  const isNamed = events.some((event) => event.name !== undefined) || meta?.name != null;
  const isPlaced = events.some((event) => event.root_id !== undefined);
  const state = stateOf(task, recording, events.length > 0 || metas.length > 0);
  const opening = events
    .filter((event) => event.args !== undefined)
    .sort((a, b) => Number(a.timestamp) - Number(b.timestamp))
    .at(-1);
  const sent = events.filter((event) => event.type === 'task-sent').at(-1);
  const retries = [...events, ...metas]
    .map((item) => item.retries)
    .filter((count) => typeof count === 'number');
  return {
    name: isNamed ? (task.replaced_by ?? task.name) : null,
    state,
    worker: (byWorker.at(-1)?.hostname ?? startedBy(metas) ?? meta?.worker ?? null) as string | null,
    queue: (sent?.queue ?? meta?.queue ?? null) as string | null,
    retries: retries.length > 0 ? Math.max(...retries) : null,
    args: opening?.args as string | undefined,
    kwargs: opening?.kwargs as string | undefined,
    eta: typeof opening?.eta === 'string' ? Date.parse(opening.eta.replace(/(?:\+00:00)?$/, 'Z')) : null,
    sent: time('task-sent'),
    received,
    started: started === undefined ? (metas.length > 0 ? undefined : null) : Number(started.timestamp) * 1000,
    finished: finishedAt(end, stored),
    runtime: (end?.runtime ?? null) as number | null,
    result: resultStart(task, state, end, recording.hasResults),
    parent: isPlaced ? relative(task, task.parent) : [(meta?.parent_id ?? null) as string | null],
    root: isPlaced ? relative(task, task.root) : [null],
  };
}

/** Everything that is published tells; of nothing published, nothing is known. */
function stateOf(task: Truth, recording: Recording, isTold: boolean): string | null {
  if (!isTold) return null;
  // A task that was rejected and not requeued is over, though Celery's own view says STARTED.
  if (task.case === 'reject') return 'REJECTED';
  return recording.hasResults ? task.expected_state : task.celery_event_state;
}

function finishedAt(
  end: Record<string, unknown> | undefined,
  stored: Record<string, unknown> | undefined,
): number | null {
  if (end !== undefined) return Number(end.timestamp) * 1000;
  return stored === undefined ? null : Date.parse(`${String(stored.date_done).replace(/\+00:00$/, '')}Z`);
}

function startedBy(metas: Record<string, unknown>[]): unknown {
  const started = metas.filter((meta) => meta.status === 'STARTED').at(-1)?.result;
  return (started as { hostname?: unknown } | undefined)?.hostname;
}

/** The event's text; where it was cut or never came, the whole value as the client's Python shows it. */
function resultStart(
  task: Truth,
  state: string | null,
  end: Record<string, unknown> | undefined,
  hasResults: boolean,
): string | null {
  if (state !== 'SUCCESS') return null;
  const text = typeof end?.result === 'string' ? end.result : null;
  if (!hasResults || (text !== null && !text.includes('...'))) return text;
  return task.client_result === 'None' || task.no_backend === true ? null : (task.client_result ?? null);
}

/** A chord's body names the header task that ended last, which the client does not know. */
function relative(task: Truth, id: string | null): readonly (string | null)[] {
  if (id === '__one_of_header__') return task.header ?? [];
  return [id];
}
