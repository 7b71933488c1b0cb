/**
 * Reads keys and values in steps that keep neither Redis nor this process busy, however many and large they
 * are. Uses only commands that read: SCAN, DBSIZE, STRLEN, MGET, GETRANGE, PTTL.
 *
 * Every function rejects with a `RedisError` when Redis is unreachable, late or refuses.
 */

import { RedisError } from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import { asTexts } from '../../../../redis/replies.ts';
import type { StoredText } from '../../result-backend.ts';

/** Keys that one SCAN visits: well under a millisecond of Redis' time. */
const SCAN_COUNT = '500';
/** Most keys of one MGET, and about the most bytes of its reply. */
const MAX_KEYS = 500;
const MAX_BYTES = 256 * 1024;
/** Of a longer value only the beginning is read. Redis copies a megabyte in well under a millisecond. */
const LONGEST_VALUE = 1024 * 1024;
const HEAD_LENGTH = '255';
/** Commands sent in one write. */
const PIPELINE = 200;
/**
 * A scan measures this many values before it reads them, and again as many after each long one. If none of them
 * is long, fewer than 3 in 100,000 are, with a probability of 95 %. The rest is read unmeasured, which takes a
 * tenth of the time.
 */
const MEASURED = 100_000;
/** Bytes of a value, until some have been read. */
const FIRST_GUESS = 4096;

/** A connection, and statistics of reading over it. */
export interface ValueStore {
  readonly reader: RedisReader;
  /** Commands sent so far. */
  commands: number;
  /** Values found by a scan that are still to be measured before they are read. */
  toMeasure: number;
  /** Bytes of a value, on average of the latest ones. */
  averageBytes: number;
}

/** A key with its value. A key without one, or of another type, is left out. */
export interface KeyValue extends StoredText {
  readonly key: string;
}

/** @param reader connection to the backend's database */
export function createValueStore(reader: RedisReader): ValueStore {
  return { reader, commands: 0, toMeasure: MEASURED, averageBytes: FIRST_GUESS };
}

/**
 * One step through the names of all keys.
 *
 * @param cursor `'0'` for the first step, then the cursor returned; `'0'` is returned by the last step
 */
export async function scanKeys(
  store: ValueStore,
  cursor: string,
  pattern: string,
  signal: AbortSignal,
): Promise<{ cursor: string; keys: readonly string[] }> {
  const reply = await sendOne(store, ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT], signal);
  const [next, keys] = Array.isArray(reply) ? (reply as unknown[]) : [];
  return { cursor: String(next ?? '0'), keys: asTexts(keys) };
}

/** Number of keys in the database; `null` when the user may not read it. */
export async function countKeys(store: ValueStore, signal: AbortSignal): Promise<number | null> {
  try {
    return Number(await sendOne(store, ['DBSIZE'], signal));
  } catch (error) {
    if (error instanceof RedisError && error.problem.code === 'NOPERM') return null;
    throw error;
  }
}

/** Values in parts of bounded size, in no particular order; the next part is read on request. */
export async function* readValues(
  store: ValueStore,
  keys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly KeyValue[], void> {
  for (let at = 0; at < keys.length; at += PIPELINE) {
    yield* readMeasured(store, keys.slice(at, at + PIPELINE), signal);
  }
}

/** The same, and faster, for keys that a scan found: they are a random choice of all. */
export async function* readScannedValues(
  store: ValueStore,
  keys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly KeyValue[], void> {
  for (let at = 0; at < keys.length; ) {
    if (store.toMeasure > 0) {
      const part = keys.slice(at, at + PIPELINE);
      at += part.length;
      store.toMeasure -= part.length;
      yield* readMeasured(store, part, signal);
    } else {
      const count = Math.max(1, Math.min(MAX_KEYS, Math.floor(MAX_BYTES / store.averageBytes)));
      const values = await readWhole(store, keys.slice(at, at + count), signal);
      at += count;
      noteLengths(
        store,
        values.map(({ text }) => text.length),
      );
      yield values;
    }
  }
}

/** Milliseconds until each key expires; `-1`: never, `-2`: there is no such key. */
export async function timesToLive(
  store: ValueStore,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < keys.length; at += PIPELINE) {
    const commands = keys.slice(at, at + PIPELINE).map((key) => ['PTTL', key]);
    for (const reply of await send(store, commands, signal)) times.push(Number(reply));
  }
  return times;
}

async function* readMeasured(
  store: ValueStore,
  keys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly KeyValue[], void> {
  const lengths = await lengthsOf(store, keys, signal);
  noteLengths(store, lengths);
  const measured = keys.map((key, index) => ({ key, length: lengths[index] ?? 0 }));
  const long = measured.filter(({ length }) => length > LONGEST_VALUE);
  if (long.length > 0)
    yield await readHeads(
      store,
      long.map(({ key }) => key),
      signal,
    );
  let group: string[] = [];
  let bytes = 0;
  for (const { key, length } of measured) {
    if (length === 0 || length > LONGEST_VALUE) continue;
    if (bytes + length > MAX_BYTES && group.length > 0) {
      yield await readWhole(store, group, signal);
      group = [];
      bytes = 0;
    }
    group.push(key);
    bytes += length;
  }
  if (group.length > 0) yield await readWhole(store, group, signal);
}

/** Lengths of values in bytes; 0 where there is none, or not a text. */
async function lengthsOf(store: ValueStore, keys: readonly string[], signal: AbortSignal): Promise<number[]> {
  const commands = keys.map((key) => ['STRLEN', key]);
  try {
    return (await send(store, commands, signal)).map(Number);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  // One of the keys is not a text. Only single requests show which one.
  const lengths: number[] = [];
  for (const command of commands) {
    lengths.push(Number(await sendOne(store, command, signal).catch(unlessRefused(0))));
  }
  return lengths;
}

async function readWhole(
  store: ValueStore,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<KeyValue[]> {
  const reply = await sendOne(store, ['MGET', ...keys], signal);
  const values: unknown[] = Array.isArray(reply) ? reply : [];
  return keys.flatMap((key, index) => {
    const text = values[index];
    return typeof text === 'string' && text !== '' ? { key, text, isCut: false } : [];
  });
}

async function readHeads(
  store: ValueStore,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<KeyValue[]> {
  const commands = keys.map((key) => ['GETRANGE', key, '0', HEAD_LENGTH]);
  const heads: readonly unknown[] = await send(store, commands, signal).catch(unlessRefused([]));
  return keys.map((key, index) => ({ key, text: String(heads[index] ?? ''), isCut: true }));
}

function noteLengths(store: ValueStore, lengths: readonly number[]): void {
  const present = lengths.filter((length) => length > 0);
  if (present.length === 0) return;
  const average = present.reduce((sum, length) => sum + length) / present.length;
  store.averageBytes = (store.averageBytes + average) / 2;
  if (present.some((length) => length > MAX_BYTES)) store.toMeasure = MEASURED;
}

async function send(
  store: ValueStore,
  commands: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  store.commands += commands.length;
  return await store.reader.commands(commands, { signal });
}

async function sendOne(store: ValueStore, command: readonly string[], signal: AbortSignal): Promise<unknown> {
  const [reply] = await send(store, [command], signal);
  return reply;
}

/** Redis answered and refused this very command, as it does for a key of another type. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof RedisError && (error.problem.code === 'WRONGTYPE' || error.problem.code === 'UNKNOWN')
  );
}

/** @returns a handler that replaces a refusal and throws any other error */
function unlessRefused<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (isRefusal(error)) return value;
    throw error;
  };
}
