/** Looks at names of keys, never at values: bounded steps, each far below a millisecond of Redis' time. */
import type { RedisEndpoint } from '../../../redis/endpoint.ts';

import type { RedisReader } from '../../../redis/reader.ts';

/** Keys that one step looks at, and steps. */
const SCAN_COUNT = 500;
const SCAN_STEPS = 40;
/** Databases that are looked into; Redis has 16 unless it is told otherwise. */
const MOST_DATABASES = 16;
const MOST_PREFIXES = 10;
/** In characters; anything longer is not shown to anybody. */
const LONGEST_PREFIX = 100;

/** Sets that every broker has whose workers have ever run (kombu/transport/redis.py, `_queue_bind`). */
const BINDING = '_kombu.binding.';
const BINDINGS = [`${BINDING}celery`, `${BINDING}celeryev`, `${BINDING}celery.pidbox`];

/** Whether our database has keys of a broker under this prefix, or others. */
export async function findBroker(
  reader: RedisReader,
  endpoint: RedisEndpoint,
  prefix: string,
  signal: AbortSignal,
): Promise<{ isAtHome: boolean; prefixes: string[]; databases: number[] }> {
  const keys = BINDINGS.map((key) => `${prefix}${key}`);
  if (await hasAny(reader, keys, signal)) return { isAtHome: true, prefixes: [], databases: [] };
  const prefixes = await prefixesOf(reader, BINDING, signal);
  // Under another name of the exchange.
  if (prefixes.includes(prefix)) return { isAtHome: true, prefixes: [], databases: [] };
  const databases = prefixes.length > 0 ? [] : await databasesWith(reader, endpoint, keys, signal);
  return { isAtHome: false, prefixes, databases };
}

/** Whether our database has results under this prefix, or others. */
export async function findResults(
  reader: RedisReader,
  prefix: string,
  signal: AbortSignal,
): Promise<{ isAtHome: boolean; prefixes: string[] }> {
  const prefixes = await prefixesOf(reader, 'celery-task-meta-', signal);
  return { isAtHome: prefixes.includes(prefix), prefixes: prefixes.filter((other) => other !== prefix) };
}

/** The database that has this key, ours first; `null` when none is known to have it. */
export async function findDatabase(
  reader: RedisReader,
  endpoint: RedisEndpoint,
  key: string,
  signal: AbortSignal,
): Promise<number | null> {
  if (await hasAny(reader, [key], signal)) return endpoint.database;
  return (await databasesWith(reader, endpoint, [key], signal))[0] ?? null;
}

async function hasAny(reader: RedisReader, keys: readonly string[], signal: AbortSignal): Promise<boolean> {
  return (await reader.command(['EXISTS', ...keys], { signal })) !== 0;
}

/** What stands before this part in the names of keys, each once, in order. */
async function prefixesOf(reader: RedisReader, part: string, signal: AbortSignal): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  for (let step = 0; step < SCAN_STEPS && found.size < MOST_PREFIXES; step += 1) {
    const reply = await reader.command(['SCAN', cursor, 'MATCH', `*${part}*`, 'COUNT', String(SCAN_COUNT)], {
      signal,
    });
    const [next, keys] = reply as [string, string[]];
    for (const key of keys) {
      const at = key.indexOf(part);
      if (at <= LONGEST_PREFIX) found.add(key.slice(0, at));
    }
    cursor = next;
    if (cursor === '0') break;
  }
  return [...found].toSorted();
}

/**
 * Other databases that have one of these keys. A connection of a URL is ours alone, so that it can look
 * into another database; a host's client may be several connections, where that would not be safe.
 */
async function databasesWith(
  reader: RedisReader,
  endpoint: RedisEndpoint,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<number[]> {
  if (typeof endpoint.server !== 'string') return [];
  const found: number[] = [];
  const info = String(await reader.command(['INFO', 'keyspace'], { signal }));
  const numbers = [...info.matchAll(/^db(\d+):/gm)].map(([, digits]) => Number(digits));
  const others = numbers.filter((number) => number !== endpoint.database).slice(0, MOST_DATABASES);
  try {
    for (const number of others) {
      await reader.command(['SELECT', String(number)], { signal });
      if (await hasAny(reader, keys, signal)) found.push(number);
    }
  } finally {
    await reader.command(['SELECT', String(endpoint.database)], { signal }).catch(() => {});
  }
  return found;
}
