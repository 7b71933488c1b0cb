/** Redis URLs in all forms that Celery accepts (kombu/utils/url.py, celery/backends/redis.py). */
import { hostAndPort, schemeOf, splitUrl } from '../server-urls.ts';
import { type TlsOptions, type TlsParameters, tlsOptions } from '../tls.ts';

/** Address and login of a Redis. */
export interface RedisAddress {
  readonly socket: { readonly host: string; readonly port: number } | { readonly path: string };
  readonly database: number;
  readonly username: string | null;
  readonly password: string | null;
  /** `null`: no TLS. */
  readonly tls: TlsOptions | null;
}

const NETWORK = new Set(['redis:', 'rediss:']);
const SOCKET = new Set(['socket:', 'redis+socket:', 'unix:']);
const SENTINEL = 'sentinel:';

/** Whether {@link parseRedisUrl} knows the scheme. */
export function isRedisUrl(url: string): boolean {
  const scheme = schemeOf(url);
  return NETWORK.has(scheme) || SOCKET.has(scheme);
}

/** Whether these are URLs of Sentinels. */
export function isSentinelUrl(url: string): boolean {
  return schemeOf(url) === SENTINEL;
}

/**
 * Parses the URL of one Redis. Of a fail-over list (`redis://a;redis://b`) the first URL is used.
 *
 * @param option the option that it was given in, for error messages
 * @param ssl a setting that turns TLS on, whatever the scheme; parameters of the URL take precedence over its own
 * @throws TypeError that says what to write; it never contains the URL, which may have a password
 */
export function parseRedisUrl(url: string, option: string, ssl: TlsParameters | null = null): RedisAddress {
  const first = url.split(';')[0]?.trim() ?? '';
  const scheme = schemeOf(first);
  const isSocket = SOCKET.has(scheme);
  if (!NETWORK.has(scheme) && !isSocket) {
    const isBroker = option === 'broker' || option === 'settings.broker_url';
    const [servers, other] = isBroker ? ['Redis and RabbitMQ', ' or amqp://host:5672//'] : ['Redis', ''];
    throw new TypeError(
      `celerySources: '${option}' ${scheme === '' ? 'is not a URL' : `begins with ${scheme}`}. ` +
        `This source reads ${servers}. Write a URL such as redis://host:6379/0${other}.`,
    );
  }
  const { host, port, path, query, username, password } = isSocket
    ? splitUrl(first, option, 'redis+socket:///path/to/redis.sock', (parsed) => parsed.pathname.length > 1)
    : splitUrl(first, option, 'redis://user:password@host:6379/0');
  const database = query.get('virtual_host') ?? query.get('db') ?? (isSocket ? '' : path);
  const ofUrl = { option, values: Object.fromEntries(query) };
  return {
    socket: isSocket ? { path } : { host, port: port ?? 6379 },
    database: databaseNumber(database, option, 'redis://host:6379/0'),
    username,
    password,
    // Celery ignores TLS settings for sockets.
    tls:
      !isSocket && (scheme === 'rediss:' || ssl !== null)
        ? tlsOptions([ofUrl, ...(ssl === null ? [] : [ssl])])
        : null,
  };
}

/** Formats the address as a URL, without user, password and query. */
export function displayUrl({ socket, database, tls }: RedisAddress): string {
  return displayRedis(socket, database, tls !== null);
}

/** Formats an address as a URL. */
export function displayRedis(socket: RedisAddress['socket'], database: number, isTls: boolean): string {
  if ('path' in socket) return `redis+socket://${socket.path}`;
  return `${isTls ? 'rediss' : 'redis'}://${hostAndPort(socket)}/${database}`;
}

/**
 * The database number of a path such as `/3`; 0 if the path is empty.
 *
 * @throws TypeError that says what to write
 */
export function databaseNumber(path: string, option: string, example: string): number {
  const digits = path.replace(/^\/|\/$/g, '');
  if (/^\d{0,6}$/.test(digits)) return Number(digits);
  throw new TypeError(`celerySources: '${option}' must end in a database number, as in ${example}.`);
}
