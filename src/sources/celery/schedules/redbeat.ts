/** Reads the schedule that redbeat keeps in Redis. */

import { RedisError } from '../../../redis/problems.ts';
import type { RedisReader } from '../../../redis/reader.ts';
import { type RedbeatEntry, redbeatEntry } from './redbeat-entry.ts';
import type { RedbeatKeys } from './redbeat-settings.ts';

/** What redbeat's keys hold. */
export interface RedbeatSnapshot {
  readonly entries: readonly RedbeatEntry[];
  /** How many entries there are; more than are read when there are very many. */
  readonly total: number;
  /** Entries that cannot be read. */
  readonly unreadable: number;
  /** For how long the lock still holds, in milliseconds; `null`: nobody holds it. */
  readonly lockMs: number | null;
}

/** Most entries read, those that are due next first. */
const MOST_ENTRIES = 5000;
/** Members of the sorted set in one reply, and entries in one write. */
const PAGE = 500;
const CHUNK = 100;
/** Entries that are read again although nothing says that they have changed. */
const SLICE = 500;
/** Longest definition and meta that is read, in bytes. */
const LONGEST = 65_536;

/** Redbeat's schedule. */
export interface Redbeat {
  /**
   * Reads what has changed, by the time that entries are due, which redbeat writes whenever it runs or
   * saves one; and of those that have not, the {@link SLICE} that were not read for longest.
   *
   * @throws RedisError when Redis is away, late or refuses
   */
  read(): Promise<RedbeatSnapshot>;
}

/** What was read of an entry; `null` when it cannot be read. */
interface Known {
  readonly score: string;
  readonly entry: RedbeatEntry | null;
}

/** Reads redbeat's entries and its lock. */
export function createRedbeat(reader: RedisReader, keys: RedbeatKeys): Redbeat {
  // The one that was not read for longest comes first.
  const known = new Map<string, Known>();

  function toRead(members: ReadonlyMap<string, string>): Member[] {
    for (const key of known.keys()) if (!members.has(key)) known.delete(key);
    const some = [...members].filter(([key, score]) => known.get(key)?.score !== score);
    const most = some.length + SLICE;
    for (const [key, { score }] of known) {
      if (some.length >= most) break;
      if (members.get(key) === score) some.push([key, score]);
    }
    return some;
  }

  return {
    async read() {
      const [total, finished, ...ttls] = await reader.commands([
        ['ZCARD', keys.schedule],
        // Scores below zero: never due again.
        ['ZCOUNT', keys.schedule, '-inf', '(0'],
        ...keys.locks.map((lock) => ['PTTL', lock]),
      ]);
      const members = await readMembers(reader, keys.schedule, Number(total), Number(finished));
      const some = toRead(members);
      for (let at = 0; at < some.length; at += CHUNK) {
        const chunk = some.slice(at, at + CHUNK);
        const entries = await readEntries(reader, keys.prefix, chunk);
        for (const [key, score] of chunk) {
          known.delete(key);
          known.set(key, { score, entry: entries.get(key) ?? null });
        }
      }
      const entries = [...members.keys()].flatMap((key) => known.get(key)?.entry ?? []);
      // -2: there is no such key. -1: it never expires.
      const held = ttls.map(Number).filter((ttl) => ttl !== -2);
      return {
        entries,
        total: Number(total),
        unreadable: members.size - entries.length,
        lockMs: held.length === 0 ? null : Math.max(...held.map((ttl) => (ttl === -1 ? Infinity : ttl))),
      };
    },
  };
}

type Member = readonly [key: string, score: string];

/** Keys of entries, those that are due next first and the finished ones last. */
async function readMembers(
  reader: RedisReader,
  schedule: string,
  total: number,
  finished: number,
): Promise<Map<string, string>> {
  const pages: string[][] = [];
  let left = MOST_ENTRIES;
  for (const [from, to] of [
    [finished, total],
    [0, finished],
  ] as const) {
    const end = Math.min(to, from + left);
    for (let at = from; at < end; at += PAGE) {
      pages.push(['ZRANGE', schedule, String(at), String(Math.min(at + PAGE, end) - 1), 'WITHSCORES']);
    }
    left -= end - from;
  }
  const members = new Map<string, string>();
  for (const page of await reader.commands(pages)) {
    if (!Array.isArray(page)) continue;
    for (let at = 0; at + 1 < page.length; at += 2) members.set(String(page[at]), String(page[at + 1]));
  }
  return members;
}

/** What cannot be read is left out. */
async function readEntries(
  reader: RedisReader,
  prefix: string,
  members: readonly Member[],
): Promise<Map<string, RedbeatEntry>> {
  const sizes = await oneByOne(
    reader,
    members.flatMap(([key]) => [
      ['HSTRLEN', key, 'definition'],
      ['HSTRLEN', key, 'meta'],
    ]),
  );
  const readable = members.filter((_, index) => {
    const definition = sizes[2 * index];
    const meta = sizes[2 * index + 1];
    return typeof definition === 'number' && definition > 0 && definition + Number(meta) <= LONGEST;
  });
  const hashes = await oneByOne(
    reader,
    readable.map(([key]) => ['HMGET', key, 'definition', 'meta']),
  );
  const entries = new Map<string, RedbeatEntry>();
  readable.forEach(([key, score], index) => {
    const hash = hashes[index];
    if (!Array.isArray(hash) || typeof hash[0] !== 'string') return;
    const entry = redbeatEntry(key, prefix, score, hash[0], typeof hash[1] === 'string' ? hash[1] : null);
    if (entry !== null) entries.set(key, entry);
  });
  return entries;
}

/** What Redis says of a single key, not of itself. */
const OF_KEY = new Set(['WRONGTYPE', 'NOPERM']);

/** The replies; `null` where a key is none of redbeat's. */
async function oneByOne(reader: RedisReader, commands: readonly (readonly string[])[]): Promise<unknown[]> {
  if (commands.length === 0) return [];
  try {
    return await reader.commands(commands);
  } catch (error) {
    if (!isOfKey(error)) throw error;
  }
  return Promise.all(
    commands.map((command) =>
      reader.command(command).catch((error: unknown) => {
        if (isOfKey(error)) return null;
        throw error;
      }),
    ),
  );
}

function isOfKey(error: unknown): boolean {
  return error instanceof RedisError && OF_KEY.has(error.problem.code);
}
