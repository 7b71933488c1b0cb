/**
 * Broker and backend URLs in every form that Celery takes for Redis (kombu/utils/url.py,
 * celery/backends/redis.py).
 */
import { type TlsOptions, type TlsParameters, tlsOptions } from './tls.ts';

/** Address of a Redis and how to log in. */
export interface RedisAddress {
  readonly socket: { readonly host: string; readonly port: number } | { readonly path: string };
  readonly database: number;
  readonly username: string | null;
  readonly password: string | null;
  /** `null`: no TLS. */
  readonly tls: TlsOptions | null;
}

/** The decoded parts of a URL. */
export interface UrlParts {
  readonly host: string;
  readonly port: number | null;
  readonly path: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly query: URLSearchParams;
}

const NETWORK = new Set(['redis:', 'rediss:']);
const SOCKET = new Set(['socket:', 'redis+socket:', 'unix:']);
const SENTINEL = 'sentinel:';

/** Whether this is a URL of a form that {@link parseRedisUrl} reads. */
export function isRedisUrl(url: string): boolean {
  const scheme = schemeOf(url);
  return NETWORK.has(scheme) || SOCKET.has(scheme);
}

/** Whether the URL names Sentinels, which know the address of the Redis. */
export function isSentinelUrl(url: string): boolean {
  return schemeOf(url) === SENTINEL;
}

/**
 * Reads a URL of one Redis. Of a fail-over list (`redis://a;redis://b`) the first is used.
 *
 * @param option the option it was given in, for the error
 * @param ssl a setting that asks for TLS whatever the URL says; the URL's own parameters take precedence
 * @throws TypeError that says what to write; it never holds the URL, which may have a password
 */
export function parseRedisUrl(url: string, option: string, ssl: TlsParameters | null = null): RedisAddress {
  const first = url.split(';')[0]?.trim() ?? '';
  const scheme = schemeOf(first);
  const isSocket = SOCKET.has(scheme);
  if (!NETWORK.has(scheme) && !isSocket) {
    throw new TypeError(
      `celerySources: ${option} ${scheme === '' ? 'is no URL' : `begins with ${scheme}`}. ` +
        'This source reads Redis; write redis://host:6379/0.',
    );
  }
  const { host, port, path, query, username, password } = isSocket
    ? splitUrl(first, option, 'redis+socket:///path/to/redis.sock', (parsed) => parsed.pathname.length > 1)
    : splitUrl(first, option, 'redis://user:password@host:6379/0');
  const database = query.get('virtual_host') ?? query.get('db') ?? (isSocket ? '' : path);
  return {
    socket: isSocket ? { path } : { host, port: port ?? 6379 },
    database: databaseNumber(database, option, 'redis://host:6379/0'),
    username,
    password,
    // Celery ignores TLS settings for sockets.
    tls: !isSocket && (scheme === 'rediss:' || ssl !== null) ? tlsOptions(tables(query, option, ssl)) : null,
  };
}

function tables(query: URLSearchParams, option: string, ssl: TlsParameters | null): TlsParameters[] {
  const ofUrl = { option, values: Object.fromEntries(query) };
  return ssl === null ? [ofUrl] : [ofUrl, ssl];
}

/** The address as a URL, without user, password and query. */
export function displayUrl({ socket, database, tls }: RedisAddress): string {
  return displayRedis(socket, database, tls !== null);
}

/** A URL of a Redis at this address. */
export function displayRedis(socket: RedisAddress['socket'], database: number, isTls: boolean): string {
  if ('path' in socket) return `redis+socket://${socket.path}`;
  return `${isTls ? 'rediss' : 'redis'}://${hostAndPort(socket)}/${database}`;
}

/** The scheme in lower case with its colon; empty if the URL has none. */
export function schemeOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:/i.exec(url.trim())?.[0].toLowerCase() ?? '';
}

/**
 * Takes a URL apart.
 *
 * @param example what to write instead of a URL that cannot be read
 * @param isWhole whether a valid URL also has the parts that are needed
 * @throws TypeError that says what to write
 */
export function splitUrl(
  url: string,
  option: string,
  example: string,
  isWhole: (parsed: URL) => boolean = () => true,
): UrlParts {
  // Node splits a URL into user, host and port only if it knows the scheme's syntax, as it does for redis:.
  const known = url.replace(/^[a-z][a-z0-9+.-]*:(\/\/)?/i, 'redis://');
  // An empty host means localhost in Celery, and a socket's URL has none.
  const named = known.replace(/^redis:\/\/((?:[^/?#]*@)?)(?=[:/?#]|$)(?![^/?#]*@)/, 'redis://$1localhost');
  const parsed = URL.canParse(named) ? new URL(named) : null;
  if (parsed === null || !isWhole(parsed)) {
    throw new TypeError(
      `celerySources: ${option} cannot be read as a URL. Write ${example}; ` +
        'characters such as @ / # in a password must be percent-encoded.',
    );
  }
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? null : Number(parsed.port),
    path: decode(parsed.pathname, option),
    username: decode(parsed.username, option) || null,
    password: decode(parsed.password, option) || null,
    query: parsed.searchParams,
  };
}

function decode(text: string, option: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError(`celerySources: ${option} has a % that is not followed by two hexadecimal digits.`);
  }
}

/**
 * The number in a path such as `/3`; 0 if the path is empty.
 *
 * @throws TypeError that says what to write
 */
export function databaseNumber(path: string, option: string, example: string): number {
  const digits = path.replace(/^\/|\/$/g, '');
  if (/^\d{0,6}$/.test(digits)) return Number(digits);
  throw new TypeError(`celerySources: ${option} must end in the number of a database, as ${example}.`);
}

/** Host and port as in a URL, with brackets around IPv6 addresses. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
