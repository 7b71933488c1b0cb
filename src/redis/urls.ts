/** Redis URLs in all forms that Celery accepts (kombu/utils/url.py, celery/backends/redis.py). */
import { type TlsOptions, type TlsParameters, tlsOptions } from './tls.ts';

/** Address and login of a Redis. */
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
    throw new TypeError(
      `celerySources: '${option}' ${scheme === '' ? 'is not a URL' : `begins with ${scheme}`}. ` +
        'This source reads Redis. Write a URL such as redis://host:6379/0.',
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

/** Formats the address as a URL, without user, password and query. */
export function displayUrl({ socket, database, tls }: RedisAddress): string {
  return displayRedis(socket, database, tls !== null);
}

/** Formats an address as a URL. */
export function displayRedis(socket: RedisAddress['socket'], database: number, isTls: boolean): string {
  if ('path' in socket) return `redis+socket://${socket.path}`;
  return `${isTls ? 'rediss' : 'redis'}://${hostAndPort(socket)}/${database}`;
}

/** The scheme with its colon, in lower case; empty if the text has none. */
export function schemeOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:/i.exec(url.trim())?.[0].toLowerCase() ?? '';
}

/**
 * Splits a URL into its parts.
 *
 * @param example a valid URL, for error messages
 * @param isWhole whether a URL has all parts that it needs
 * @throws TypeError that says what to write
 */
export function splitUrl(
  url: string,
  option: string,
  example: string,
  isWhole: (parsed: URL) => boolean = () => true,
): UrlParts {
  // Node finds user, host and port only for schemes whose syntax it knows; it knows redis:.
  const known = url.replace(/^[a-z][a-z0-9+.-]*:(\/\/)?/i, 'redis://');
  // In Celery, an empty host means localhost. The URL of a socket has no host.
  const named = known.replace(/^redis:\/\/((?:[^/?#]*@)?)(?=[:/?#]|$)(?![^/?#]*@)/, 'redis://$1localhost');
  const parsed = URL.canParse(named) ? new URL(named) : null;
  if (parsed === null || !isWhole(parsed)) {
    throw new TypeError(
      `celerySources: '${option}' is not a valid URL. Write a URL such as ${example}, ` +
        'with characters such as @ / # in a password percent-encoded.',
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
    throw new TypeError(`celerySources: '${option}' has a % that is not followed by two hexadecimal digits.`);
  }
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

/** Formats host and port for a URL, with brackets around IPv6 addresses. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
