/** Finds out on which channels is published, and under which prefixes and databases keys exist. Reads no values. */
import { createConnection, createRedisReader, type RedisEndpoint } from './connection.ts';
import { describeError } from './problems.ts';
import type { RedisReader } from './reader.ts';

/** Keys examined by one SCAN, and most SCANs: each takes Redis far less than a millisecond. */
const SCAN_COUNT = 500;
const MOST_SCANS = 40;
/** Most databases that are examined. Redis has 16 by default. */
const MOST_DATABASES = 16;
const MOST_PREFIXES = 10;
/** Longest prefix that is reported, in characters. */
const LONGEST_PREFIX = 100;

/**
 * Reads from a Redis over a connection of its own.
 *
 * @returns `null` when Redis is unreachable or refuses
 */
export async function lookAt<T>(
  endpoint: RedisEndpoint,
  look: (reader: RedisReader) => Promise<T>,
): Promise<T | null> {
  const reader = createRedisReader('diagnosis', endpoint);
  try {
    return await look(reader);
  } catch {
    return null;
  } finally {
    await reader.close();
  }
}

/** Whether any of these keys exists. */
export async function hasAnyKey(
  reader: RedisReader,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  return (await reader.command(['EXISTS', ...keys], { signal })) !== 0;
}

/** The texts before this part in names of keys, each once, sorted; at most ten, from a bounded scan. */
export async function findPrefixes(
  reader: RedisReader,
  part: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = new Set<string>();
  let cursor = '0';
  for (let scan = 0; scan < MOST_SCANS && found.size < MOST_PREFIXES; scan += 1) {
    const command = ['SCAN', cursor, 'MATCH', `*${part}*`, 'COUNT', String(SCAN_COUNT)];
    const [next, keys] = (await reader.command(command, { signal })) as [string, string[]];
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
 * Other databases of the server that have one of these keys. Only searched with a URL: a client of the host may
 * use several connections, on which SELECT is not safe.
 */
export async function findDatabases(
  reader: RedisReader,
  endpoint: RedisEndpoint,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (typeof endpoint.server !== 'string') return [];
  const info = String(await reader.command(['INFO', 'keyspace'], { signal }));
  const numbers = [...info.matchAll(/^db(\d+):/gm)].map(([, digits]) => Number(digits));
  const others = numbers.filter((number) => number !== endpoint.database).slice(0, MOST_DATABASES);
  const found: number[] = [];
  for (const number of others) {
    await reader.command(['SELECT', String(number)], { signal });
    if (await hasAnyKey(reader, keys, signal)) found.push(number);
  }
  return found;
}

/** How long is listened, in milliseconds: workers send a heartbeat every two seconds. */
const LISTEN_MS = 8_000;
/** Most channels that are reported. */
const MOST_CHANNELS = 20;

/** Channels on which something was published. */
export interface HeardChannels {
  /** Each once. */
  readonly channels: readonly string[];
  /** Redis answered NOPERM to one of the patterns. */
  readonly isForbidden: boolean;
}

/**
 * Listens to patterns for a limited time, over a connection of its own, and reports the channels with messages.
 * Never rejects; ends early when Redis becomes unreachable.
 *
 * @param nameOf the name to report for a channel; `null`: none
 */
export async function hearChannels(
  { open }: RedisEndpoint,
  patterns: readonly string[],
  nameOf: (channel: string) => string | null,
  signal: AbortSignal,
): Promise<HeardChannels> {
  const channels = new Set<string>();
  let isForbidden = false;
  let timer: NodeJS.Timeout | undefined;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const connection = createConnection({
    label: 'diagnosis',
    open,
    async prepare(client, heard) {
      const listener = (_message: string, channel: string): void => {
        heard();
        const name = channels.size < MOST_CHANNELS ? nameOf(channel) : null;
        if (name !== null) channels.add(name);
      };
      let accepted = 0;
      for (const pattern of patterns) {
        try {
          // One by one: Redis refuses all patterns of a command when one of them is forbidden.
          await client.pSubscribe([pattern], listener);
          accepted += 1;
        } catch (error) {
          if (describeError(error).code !== 'NOPERM') throw error;
          isForbidden = true;
        }
      }
      if (accepted === 0) throw new Error('There is nothing to listen to.');
    },
    // Counted from the subscription: a slow connection must not shorten it.
    onUp() {
      timer = setTimeout(end, LISTEN_MS).unref();
    },
    onDown: end,
  });
  connection.opened().catch(end);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  await ended;
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  await connection.close();
  return { channels: [...channels], isForbidden };
}
