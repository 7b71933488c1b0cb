import {
  type CeleryRedisClient,
  checkClient,
  clientsOf,
  duplicatesOf,
  type OpenClient,
} from './redis-client.ts';
import type { CelerySettings } from './settings.ts';
import { displayUrl, isRedisUrl, parseRedisUrl } from './urls.ts';

/** A Redis that is to be read. */
export interface RedisEndpoint {
  readonly open: OpenClient;
  /** Equal for two endpoints on the same server with the same credentials. Holds the password: never show it. */
  readonly server: unknown;
  readonly database: number;
  /** Without user, password and query; `null` where a client does not tell. */
  readonly url: string | null;
}

/**
 * The broker.
 *
 * @throws TypeError that says what to write
 */
export function brokerEndpoint(broker: unknown, settings: CelerySettings): RedisEndpoint {
  const urls = settings.broker_url;
  const configured = typeof urls === 'string' ? urls : urls?.[0];
  if (broker === undefined || broker === null) {
    if (configured !== undefined) return urlEndpoint(configured, 'settings.broker_url');
    throw new TypeError("celerySources: broker is missing. Write broker: 'redis://host:6379/0'.");
  }
  if (typeof broker === 'string') return urlEndpoint(broker, 'broker');
  return clientEndpoint(checkClient(broker, 'broker'), configured);
}

/**
 * The result backend. One that the settings name and that is not Redis is none of this source's
 * business; one that the option names is a mistake.
 *
 * @throws TypeError that says what to write
 */
export function backendEndpoint(
  backend: unknown,
  settings: CelerySettings,
): { backend: RedisEndpoint | null; foreignBackend: string | null } {
  const configured = settings.result_backend ?? undefined;
  if (backend === undefined && configured !== undefined && !isRedisUrl(configured)) {
    const scheme = /^[\w+.-]+/.exec(configured)?.[0] ?? '';
    return { backend: null, foreignBackend: scheme === '' || scheme === 'disabled' ? null : scheme };
  }
  return { backend: redisBackend(backend, configured), foreignBackend: null };
}

function redisBackend(backend: unknown, configured: string | undefined): RedisEndpoint | null {
  if (backend === null) return null;
  if (backend === undefined) {
    return configured === undefined ? null : urlEndpoint(configured, 'settings.result_backend');
  }
  if (typeof backend === 'string') return urlEndpoint(backend, 'backend');
  return clientEndpoint(checkClient(backend, 'backend'), configured);
}

function urlEndpoint(url: string, option: string): RedisEndpoint {
  const address = parseRedisUrl(url, option);
  const { database, ...server } = address;
  return { open: clientsOf(address), server: JSON.stringify(server), database, url: displayUrl(address) };
}

/** @param url what the app's configuration calls the same Redis, perhaps from another network */
function clientEndpoint(client: CeleryRedisClient, url: string | undefined): RedisEndpoint {
  const options = (client.options ?? {}) as {
    database?: unknown;
    socket?: { host?: unknown; port?: unknown; path?: unknown; tls?: unknown };
  };
  const own = typeof options.database === 'number' ? options.database : 0;
  const database = (url === undefined ? null : databaseOf(url)) ?? own;
  const { host, port, path, tls } = options.socket ?? {};
  let shown: string | null = null;
  if (typeof path === 'string') shown = `redis+socket://${path}`;
  else if (typeof host === 'string') {
    shown = `${tls === true ? 'rediss' : 'redis'}://${host}:${Number(port ?? 6379)}/${own}`;
  }
  return { open: duplicatesOf(client), server: client, database, url: shown };
}

/** The number that a URL of the configuration ends in. Clients of Sentinels do not tell theirs. */
function databaseOf(url: string): number | null {
  if (isRedisUrl(url)) return parseRedisUrl(url, 'settings').database;
  const digits = /^sentinel:\/\/[^/;]*\/(\d{1,6})\b/i.exec(url)?.[1];
  return digits === undefined ? null : Number(digits);
}
