/**
 * Reads keys and values in steps that keep neither Redis nor this process busy, however many and large they
 * are. Uses only commands that read: SCAN, DBSIZE, GETRANGE.
 *
 * Every function rejects with a `RedisError` when Redis is unreachable, late or refuses.
 */

import { RedisError } from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import { asTexts, replyOfKey } from '../../../../redis/replies.ts';
import type { StoredText } from '../../result-backend.ts';

/** Keys that one SCAN visits: well under a millisecond of Redis' time. */
const SCAN_COUNT = '500';
/** Most bytes of all values of one write. Redis copies a megabyte in well under a millisecond. */
const MOST_BYTES = 1024 * 1024;
/** Most bytes of a value: those that are longer are read again with the next bound. */
const BOUNDS = [8 * 1024, 128 * 1024, MOST_BYTES] as const;
/** Of a value that is longer than all of them, only the beginning is kept, in characters. */
const HEAD_LENGTH = 256;

/** A connection, and how many commands were sent over it. */
export interface ValueStore {
  readonly reader: RedisReader;
  commands: number;
}

/** A key with its value. A key without one, or of another type, is left out. */
export interface KeyValue extends StoredText {
  readonly key: string;
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
  const command = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT];
  store.commands += 1;
  const reply = await store.reader.command(command, { signal });
  const [next, keys] = Array.isArray(reply) ? (reply as unknown[]) : [];
  return { cursor: String(next ?? '0'), keys: asTexts(keys) };
}

/** Number of keys in the database; `null` when the user may not read it. */
export async function countKeys(store: ValueStore, signal: AbortSignal): Promise<number | null> {
  store.commands += 1;
  try {
    return Number(await store.reader.command(['DBSIZE'], { signal }));
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
  let values: readonly KeyValue[] = keys.map((key) => ({ key, text: '', isCut: true }));
  for (const bound of BOUNDS) {
    const cut: KeyValue[] = [];
    const count = MOST_BYTES / bound;
    for (let at = 0; at < values.length; at += count) {
      const whole: KeyValue[] = [];
      for (const value of await readBounded(store, values.slice(at, at + count), bound, signal)) {
        (value.isCut ? cut : whole).push(value);
      }
      if (whole.length > 0) yield whole;
    }
    values = cut;
  }
  if (values.length > 0) yield values;
}

/** @param bound most bytes to read of a value; of a longer one, the beginning is returned */
async function readBounded(
  store: ValueStore,
  values: readonly KeyValue[],
  bound: number,
  signal: AbortSignal,
): Promise<KeyValue[]> {
  store.commands += values.length;
  const commands = values.map(({ key }) => ['GETRANGE', key, '0', String(bound)]);
  const outcomes = await store.reader.outcomes(commands, { signal });
  return values.flatMap(({ key }, index) => {
    const outcome = outcomes[index];
    const text = outcome === undefined ? null : replyOfKey(outcome);
    if (typeof text !== 'string' || text === '') return [];
    const isCut = Buffer.byteLength(text) > bound;
    return [{ key, text: isCut ? text.slice(0, HEAD_LENGTH) : text, isCut }];
  });
}
