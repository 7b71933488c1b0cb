/**
 * Entries of a queue's event stream, as XRANGE and XREVRANGE return them, and reads of many streams. Other programs may
 * write to the streams: anything that is not an entry is ignored, and long values are cut.
 */
import { asNumber } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { keyCommand, type QueueCommand, type QueueRef } from '../access/queue-reads.ts';

/** One entry. */
export interface StreamEntry {
  /** `<milliseconds>-<sequence>`, as Redis has it. */
  readonly id: string;
  /** Milliseconds since 1970, by the clock of Redis. */
  readonly time: number;
  /** BullMQ's name of the event; empty if it has none. */
  readonly event: string;
  /** The job that it is about; `null`: none. */
  readonly jobId: string | null;
  /** Its values by name, without return values, which may be large and are part of the task itself. */
  readonly fields: ReadonlyMap<string, string>;
  /** The whole return value of a completed job, as JSON; `null`: it has none. */
  readonly returnValue: string | null;
  /** Characters that were read for it. */
  readonly size: number;
}

/** The id before all others. */
export const BEGINNING = '0-0';

const LARGEST = 2n ** 64n - 1n;
const LONGEST = 4_096;
/** A cut keeps no more of a word than this, as a secret may be recognizable only by its end. */
const LONGEST_WORD = 1_024;
const MOST_FIELDS = 32;

/** Events of a whole queue, even if they name a job. */
export const OF_QUEUE: ReadonlySet<string> = new Set(['drained', 'paused', 'resumed', 'cleaned']);

/** Entries in the order of the reply. */
export function entriesOf(reply: unknown): readonly StreamEntry[] {
  return Array.isArray(reply) ? reply.flatMap((item) => entryOf(item) ?? []) : [];
}

function entryOf(item: unknown): StreamEntry | null {
  const [id, values]: readonly unknown[] = Array.isArray(item) ? item : [];
  if (typeof id !== 'string' || !isStreamId(id) || !Array.isArray(values)) return null;
  const fields = new Map<string, string>();
  let size = id.length;
  let returnValue: string | null = null;
  for (let at = 0; at + 1 < values.length; at += 2) {
    const [name, value]: readonly unknown[] = [values[at], values[at + 1]];
    if (typeof name !== 'string' || typeof value !== 'string') continue;
    size += name.length + value.length;
    if (name === 'returnvalue') returnValue = value;
    else if (fields.size < MOST_FIELDS) fields.set(shorten(name), shorten(value));
  }
  const event = fields.get('event') ?? '';
  return { id, time: timeOf(id), event, jobId: jobIdOf(event, fields), fields, returnValue, size };
}

function jobIdOf(event: string, fields: ReadonlyMap<string, string>): string | null {
  const id = fields.get('jobId') ?? '';
  return id === '' || id.length >= LONGEST || OF_QUEUE.has(event) ? null : id;
}

/** Whether Redis accepts it as an id: two whole numbers of 64 bits. */
export function isStreamId(text: string): boolean {
  return /^\d{1,20}-\d{1,20}$/.test(text) && text.split('-').every((part) => BigInt(part) <= LARGEST);
}

/** The milliseconds of an id. */
export function timeOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}

/** Less than 0 when `a` comes first. The parts may exceed what a number holds exactly. */
export function compareIds(a: string, b: string): number {
  const [aTime = '', aCount = ''] = a.split('-');
  const [bTime = '', bCount = ''] = b.split('-');
  return compareDigits(aTime, bTime) || compareDigits(aCount, bCount);
}

function compareDigits(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function shorten(text: string): string {
  if (text.length <= LONGEST) return text;
  const kept = text.slice(0, LONGEST);
  const end = Math.max(kept.search(/\s\S*$/), LONGEST - LONGEST_WORD);
  // A slice would keep the whole text in memory.
  return `${Buffer.from(kept.slice(0, end)).toString()}…`;
}

/** Entries behind a position. */
export interface StreamPart {
  /** Oldest first. */
  readonly entries: readonly StreamEntry[];
  /** Whether there are no more now. */
  readonly isEnd: boolean;
  /**
   * Whether entries between the position and these were removed, or may have been. Always true at the
   * {@link BEGINNING}, where no entry is.
   */
  readonly hasGap: boolean;
}

/** How far a stream has been read. */
export interface ReadMark {
  /** The last entry; {@link BEGINNING}: none. */
  readonly id: string;
  /**
   * A short entry that is not behind `id`; `null`: none is known. It is read again to see whether entries behind it were
   * removed: streams are trimmed when entries are added, and the oldest go first.
   */
  readonly witness: string | null;
}

/** What to read of a stream. */
export interface StreamRead {
  readonly queue: QueueRef;
  /** Behind which entry to begin; `null`: to read the newest entries. */
  readonly mark: ReadMark | null;
  /** How many entries, about. */
  readonly count: number;
}

/** Entries of a stream that are read at once, before their sizes are known, and in any case. */
export const FIRST_BATCH = 100;
const LEAST_BATCH = 4;
const MOST_BATCH = 500;
/** Characters that a batch should have, about. */
const BATCH_SIZE = 1_000_000;

/** How many entries to read next, given those that were just read: the entries of one queue are alike. */
export function fitBatch(batch: number, entries: readonly StreamEntry[]): number {
  if (entries.length === 0) return batch;
  const size = entries.reduce((sum, entry) => sum + entry.size, 0) / entries.length;
  const fits = Math.floor(BATCH_SIZE / Math.max(1, size));
  return Math.max(LEAST_BATCH, Math.min(fits, batch * 2, MOST_BATCH));
}

/** In characters. Larger entries are not read each time to see whether they still exist. */
const LARGE = 16_384;

/** The mark of a stream of which nothing has been read. */
export const START: ReadMark = { id: BEGINNING, witness: BEGINNING };

/** The mark behind everything before this time, in milliseconds since 1970. What was removed behind it is not known. */
export function markBehindTime(time: number): ReadMark {
  return { id: `${Math.max(0, Math.floor(time))}-0`, witness: null };
}

/** The mark behind these entries; at the start if there are none. */
export function markBehind(entries: readonly StreamEntry[]): ReadMark {
  const id = entries.at(-1)?.id;
  return id === undefined ? START : { id, witness: entries.findLast(({ size }) => size < LARGE)?.id ?? null };
}

/** Reads streams: one command for each, and another one where the last entry is not known to be short. */
export async function readStreams(
  access: QueueAccess,
  reads: readonly StreamRead[],
): Promise<readonly StreamPart[]> {
  const replies = await access.read(reads.map(commandOf));
  const found = reads.map((read, index) => entriesIn(read, replies[index]));
  const unsure = reads.filter(
    ({ mark }, index) => mark !== null && mark.witness !== mark.id && found[index]?.length !== 0,
  );
  const witnesses = await access.read(unsure.map(witnessCommand));
  const lost = new Set(unsure.filter((_, index) => asList(witnesses[index]).length === 0));
  return reads.map((read, index) => {
    const { mark, count } = read;
    const entries = found[index] ?? [];
    const isGone = mark !== null && mark.witness === mark.id && firstIdOf(replies[index]) !== mark.id;
    return { entries, isEnd: entries.length < count, hasGap: isGone || lost.has(read) };
  });
}

function commandOf({ queue, mark, count }: StreamRead): QueueCommand {
  if (mark === null) return backwardCommand(queue, '+', count);
  return mark.witness === mark.id
    ? forwardCommand(queue, mark.id, count + 1)
    : forwardCommand(queue, `(${mark.id}`, count);
}

function witnessCommand({ queue, mark }: StreamRead): QueueCommand {
  const id = mark?.witness ?? mark?.id ?? BEGINNING;
  return keyCommand(queue, 'XRANGE', 'events', id, id);
}

function entriesIn({ mark }: StreamRead, reply: unknown): readonly StreamEntry[] {
  if (mark === null) return entriesOf(reply).toReversed();
  return entriesOf(firstIdOf(reply) === mark.id ? asList(reply).slice(1) : reply);
}

function firstIdOf(reply: unknown): unknown {
  return asList(asList(reply)[0])[0];
}

function asList(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

/** The newest entries up to this id; `+`: all. */
export function backwardCommand(queue: QueueRef, end: string, count: number): QueueCommand {
  return keyCommand(queue, 'XREVRANGE', 'events', end, '-', 'COUNT', count);
}

/** Entries from this id on, itself included. */
function forwardCommand(queue: QueueRef, start: string, count: number): QueueCommand {
  return keyCommand(queue, 'XRANGE', 'events', start, '+', 'COUNT', count);
}

/**
 * The streams that have lost entries since they began, or may have: Redis before 7 does not count them. A stream that
 * does not exist has lost none.
 *
 * @returns up to when, in milliseconds since 1970; `Infinity`: none is left
 */
export async function readLost(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<ReadonlyMap<QueueRef, number>> {
  const replies = await access.read(
    queues.map((queue) => ({ queue, command: ['XINFO', 'STREAM', queue.key('events')] })),
  );
  const lost = new Map<QueueRef, number>();
  for (const [index, queue] of queues.entries()) {
    const facts = factsOf(replies[index]);
    const [length, added] = [asNumber(facts.get('length')), asNumber(facts.get('entries-added'))];
    const [first] = entriesOf([facts.get('first-entry')]);
    if (length !== null && (added === null || added > length)) {
      lost.set(queue, first?.time ?? Number.POSITIVE_INFINITY);
    }
  }
  return lost;
}

/** Pairs in RESP 2; in RESP 3 a map, which each client represents in its own way. */
function factsOf(reply: unknown): ReadonlyMap<unknown, unknown> {
  if (reply instanceof Map) return reply;
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}));
  const facts = new Map<unknown, unknown>();
  for (let at = 0; at + 1 < reply.length; at += 2) facts.set(reply[at], reply[at + 1]);
  return facts;
}
