/** Finds the Redis in which redbeat keeps its schedule (`get_redis` in redbeat/schedulers.py). */
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import { isRedisUrl } from '../../../../redis/urls.ts';
import type { CelerySettings } from '../../settings.ts';
import { sentinelEndpoint, urlEndpoint } from './endpoints.ts';

/** Where redbeat's schedule is. */
export interface RedbeatLocation {
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
