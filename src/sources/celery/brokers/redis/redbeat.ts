/** Finds the Redis in which redbeat keeps its schedule (`get_redis` in redbeat/schedulers.py), and reads it. */
import type { RedisEndpoint } from '../../../../redis/connection.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import { replyOfKey } from '../../../../redis/replies.ts';
import { isRedisUrl } from '../../../../redis/urls.ts';
import {
  type RedbeatEntry,
  type RedbeatKeys,
  type RedbeatReader,
  redbeatEntry,
} from '../../schedules/redbeat-schedule.ts';
import type { CelerySettings } from '../../settings.ts';
import { sentinelEndpoint, urlEndpoint } from './endpoints.ts';

/** Where redbeat's schedule is. */
interface RedbeatLocation {
  /** `null` when this source cannot read it. */
  readonly endpoint: RedisEndpoint | null;
  /** Why it cannot be read, and what to write; `null` when it can, or when nothing names redbeat's Redis. */
  readonly hint: string | null;
}

const SENTINEL = /^redis-sentinel:/i;
const PORT = 26_379;

/**
 * The Redis of `settings.redbeat_redis_url`, whatever the broker is; without that setting, the broker.
 *
 * @param broker `null` when the broker is not Redis
 * @throws TypeError when the URL, or a setting for Sentinel, is wrong; it says what to write
 */
export function redbeatLocation(settings: CelerySettings, broker: RedisEndpoint | null): RedbeatLocation {
  const url = settings.redbeat_redis_url;
  if (url === undefined || url === '') return { endpoint: broker, hint: null };
  if (isRedisUrl(url)) return { endpoint: urlEndpoint(url, 'settings.redbeat_redis_url'), hint: null };
  return SENTINEL.test(url) ? behindSentinels(settings) : unreadable(url);
}

/** Redbeat uses only the scheme of the URL. The options name the Sentinels. */
function behindSentinels(settings: CelerySettings): RedbeatLocation {
  const option =
    settings.redbeat_redis_options === undefined ? 'broker_transport_options' : 'redbeat_redis_options';
  const options = (settings[option] ?? {}) as Readonly<Record<string, unknown>>;
  const nodes = Array.isArray(options.sentinels) ? options.sentinels.flatMap(sentinelNode) : [];
  if (nodes.length === 0) {
    const hint =
      'redbeat_redis_url names Sentinels, and settings.redbeat_redis_options.sentinels does not list them, so its ' +
      "entries are not read. Write settings: { redbeat_redis_options: { sentinels: [['host', 26379]], service_name: 'mymaster' } }.";
    return { endpoint: null, hint };
  }
  const login = typeof options.password === 'string' ? `:${encodeURIComponent(options.password)}@` : '';
  const database = typeof options.db === 'number' ? options.db : 0;
  const values = {
    master_name: typeof options.service_name === 'string' ? options.service_name : 'master',
    sentinel_kwargs: options.sentinel_kwargs,
  };
  const url = nodes.map((node) => `sentinel://${login}${node}/${database}`).join(';');
  const transport = { option: `settings.${option}`, values };
  return {
    endpoint: sentinelEndpoint(url, { option: `settings.${option}`, transport, ssl: null }),
    hint: null,
  };
}

/** `['host', 26379]` as text; nothing for anything else. */
function sentinelNode(node: unknown): string[] {
  if (!Array.isArray(node) || typeof node[0] !== 'string' || node[0] === '') return [];
  const [host, port] = node as [string, unknown];
  return [`${host.includes(':') ? `[${host}]` : host}:${typeof port === 'number' ? port : PORT}`];
}

function unreadable(url: string): RedbeatLocation {
  const scheme = /^[\w+.-]{1,30}(?=:)/.exec(url)?.[0] ?? 'another scheme';
  const hint =
    `redbeat_redis_url begins with ${scheme}:, which this source cannot read, so redbeat's entries are not shown. ` +
    'It reads redis:, rediss: and redis-sentinel: addresses.';
  return { endpoint: null, hint };
}

/** Most entries read; those that are due next come first. */
const MOST_ENTRIES = 5000;
/** Members of the sorted set per reply, and entries per write. */
const PAGE = 500;
const CHUNK = 100;
/** Entries to read again although their due time is the same. */
const SLICE = 500;
/** Longest definition and meta to read, in bytes. */
const LONGEST = 65_536;

/**
 * Each read fetches the entries whose due time has changed: redbeat writes it whenever it runs or saves an entry.
 * It also fetches the {@link SLICE} other entries that were read longest ago.
 */
export function createRedbeatReader(reader: RedisReader, keys: RedbeatKeys): RedbeatReader {
  // In the order of reading: the one read longest ago comes first.
  const known = new Map<
    string,
    {
      readonly score: string;
      /** `null` if it was not understood. */
      readonly entry: RedbeatEntry | null;
    }
  >();

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
        // Entries that will not run again have negative scores.
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
      // PTTL: -2 without such a key, -1 if it never expires.
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

/** Keys of entries by score: those that are due next first, the finished ones last. */
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

/** Leaves out entries that are missing, too long or not understood. */
async function readEntries(
  reader: RedisReader,
  prefix: string,
  members: readonly Member[],
): Promise<Map<string, RedbeatEntry>> {
  const sizes = await repliesOf(
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
  const hashes = await repliesOf(
    reader,
    readable.map(([key]) => ['HMGET', key, 'definition', 'meta']),
  );
  const entries = new Map<string, RedbeatEntry>();
  readable.forEach(([key, score], index) => {
    const hash = hashes[index];
    if (!Array.isArray(hash) || typeof hash[0] !== 'string') return;
    const [definition, meta] = hash as [string, unknown];
    const entry = redbeatEntry(
      { key, score, definition, meta: typeof meta === 'string' ? meta : null },
      prefix,
    );
    if (entry !== null) entries.set(key, entry);
  });
  return entries;
}

/** The replies; `null` where a key has another type or may not be read. */
async function repliesOf(reader: RedisReader, commands: readonly (readonly string[])[]): Promise<unknown[]> {
  const outcomes = await reader.outcomes(commands);
  return outcomes.map((outcome) => (outcome.problem?.code === 'NOPERM' ? null : replyOfKey(outcome)));
}
