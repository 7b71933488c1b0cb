/**
 * Reads keys and values of a result backend in steps that keep neither Redis nor this process busy,
 * whatever lies there. Only reading commands: SCAN, DBSIZE, STRLEN, MGET, GETRANGE, PTTL.
 */

import { RedisError } from '../../../../redis/problems.ts';
import type { ReadOptions, RedisReader } from '../../../../redis/reader.ts';

/** Keys that one SCAN goes through: well under a millisecond of Redis' time. */
const SCAN_COUNT = '500';
/** Most keys of one MGET, and about the most bytes of its reply. */
const MOST_KEYS = 500;
const MOST_BYTES = 256 * 1024;
/** Of a longer value only the beginning is read. Redis copies a megabyte in well under a millisecond. */
const LONGEST_VALUE = 1024 * 1024;
const HEAD_LENGTH = '255';
/** Commands sent in one write. */
const PIPELINE = 200;
/**
 * Of all values, so many are measured before they are read, and again so many after each long one. Where
 * none of them is long, less than 3 in 100,000 are, with a probability of 95 %; the others are then read
 * unmeasured, which takes a tenth of the time.
 */
const MEASURED = 100_000;

/** Only the beginning of a value, which is too long to be read. */
export interface LongValue {
  readonly head: string;
}

/** Some keys and their values; `null` where there is none, or not a text. */
export interface ValuePart {
  readonly keys: readonly string[];
  readonly values: readonly (string | LongValue | null)[];
}

/** All reject with a `RedisError` when Redis is away, late or refuses. */
export interface ValueStore {
  /** One step through the names of all keys, from `cursor` (`'0'` at first) to the one returned. */
  scan(cursor: string, pattern: string, signal: AbortSignal): Promise<{ cursor: string; keys: string[] }>;
  /** Number of keys in the database, `null` when it may not be asked. */
  size(signal: AbortSignal): Promise<number | null>;
  /** Values in parts of bounded size, in no particular order; the next is read when it is asked for. */
  read(keys: readonly string[], signal: AbortSignal): AsyncGenerator<ValuePart, void>;
  /** Likewise, faster, for keys that SCAN gave: they are a random choice of all. */
  readScanned(keys: readonly string[], signal: AbortSignal): AsyncGenerator<ValuePart, void>;
  /** Milliseconds until each key expires; `-1`: never, `-2`: there is no such key. */
  ttls(keys: readonly string[], signal: AbortSignal): Promise<number[]>;
  /** Commands sent so far. */
  commands(): number;
}

/** @param reader the connection to the backend's database */
export function createValueStore(reader: RedisReader): ValueStore {
  let commands = 0;
  let toMeasure = MEASURED;
  /** Bytes of a value, as the latest parts had them. */
  let typical = 4096;

  async function send(
    list: readonly (readonly string[])[],
    options: ReadOptions,
  ): Promise<readonly unknown[]> {
    commands += list.length;
    return await reader.commands(list, options);
  }

  function note(lengths: readonly number[]): void {
    const there = lengths.filter((length) => length > 0);
    if (there.length === 0) return;
    typical = (typical + there.reduce((sum, length) => sum + length) / there.length) / 2;
    if (there.some((length) => length > MOST_BYTES)) toMeasure = MEASURED;
  }

  async function lengthsOf(keys: readonly string[], signal: AbortSignal): Promise<number[]> {
    const list = keys.map((key) => ['STRLEN', key]);
    try {
      return (await send(list, { signal })).map(Number);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    // One of the keys is not a text; it counts as empty.
    const lengths: number[] = [];
    for (const command of list) {
      const reply = send([command], { signal }).catch((error: unknown) => {
        if (isRefusal(error)) return [0];
        throw error;
      });
      lengths.push(Number((await reply)[0]));
    }
    return lengths;
  }

  async function valuesOf(keys: readonly string[], signal: AbortSignal): Promise<ValuePart> {
    const [reply] = await send([['MGET', ...keys]], { signal });
    const values = Array.isArray(reply) ? reply : [];
    return { keys, values: keys.map((_, at) => (typeof values[at] === 'string' ? values[at] : null)) };
  }

  async function headsOf(keys: readonly string[], signal: AbortSignal): Promise<ValuePart> {
    const list = keys.map((key) => ['GETRANGE', key, '0', HEAD_LENGTH]);
    const heads = await send(list, { signal }).catch((error: unknown) => {
      if (isRefusal(error)) return [];
      throw error;
    });
    return { keys, values: keys.map((_, at) => ({ head: String(heads[at] ?? '') })) };
  }

  async function* readMeasured(
    keys: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<ValuePart, void> {
    const lengths = await lengthsOf(keys, signal);
    note(lengths);
    const isLong = (at: number): boolean => (lengths[at] as number) > LONGEST_VALUE;
    const long = keys.filter((_, at) => isLong(at));
    if (long.length > 0) yield await headsOf(long, signal);
    let group: string[] = [];
    let bytes = 0;
    for (const [at, key] of keys.entries()) {
      const length = lengths[at] as number;
      if (length === 0 || isLong(at)) continue;
      if (bytes + length > MOST_BYTES && group.length > 0) {
        yield await valuesOf(group, signal);
        group = [];
        bytes = 0;
      }
      group.push(key);
      bytes += length;
    }
    if (group.length > 0) yield await valuesOf(group, signal);
  }

  async function* read(keys: readonly string[], signal: AbortSignal): AsyncGenerator<ValuePart, void> {
    for (let at = 0; at < keys.length; at += PIPELINE) {
      yield* readMeasured(keys.slice(at, at + PIPELINE), signal);
    }
  }

  return {
    async scan(cursor, pattern, signal) {
      const command = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT];
      const [reply] = await send([command], { signal });
      const [next, keys] = Array.isArray(reply) ? (reply as unknown[]) : [];
      const names = Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
      return { cursor: String(next ?? '0'), keys: names };
    },
    async size(signal) {
      try {
        const [reply] = await send([['DBSIZE']], { signal });
        return Number(reply);
      } catch (error) {
        if (error instanceof RedisError && error.problem.code === 'NOPERM') return null;
        throw error;
      }
    },
    read,
    async *readScanned(keys, signal) {
      for (let at = 0; at < keys.length; ) {
        if (toMeasure > 0) {
          const part = keys.slice(at, at + PIPELINE);
          at += part.length;
          toMeasure -= part.length;
          yield* readMeasured(part, signal);
        } else {
          const count = Math.max(1, Math.min(MOST_KEYS, Math.floor(MOST_BYTES / typical)));
          const part = await valuesOf(keys.slice(at, at + count), signal);
          at += part.keys.length;
          note(part.values.map((value) => (typeof value === 'string' ? value.length : 0)));
          yield part;
        }
      }
    },
    async ttls(keys, signal) {
      const ttls: number[] = [];
      for (let at = 0; at < keys.length; at += PIPELINE) {
        const list = keys.slice(at, at + PIPELINE).map((key) => ['PTTL', key]);
        for (const reply of await send(list, { signal })) ttls.push(Number(reply));
      }
      return ttls;
    },
    commands: () => commands,
  };
}

/** Redis answered, and said no to this very command, as it does of a key of another type. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof RedisError && (error.problem.code === 'WRONGTYPE' || error.problem.code === 'UNKNOWN')
  );
}
