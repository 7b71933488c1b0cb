/**
 * Broker and backend URLs in every form that Celery takes for Redis (kombu/utils/url.py,
 * celery/backends/redis.py).
 */
import { readFileSync } from 'node:fs';

/** Where a Redis is and how to log in. */
export interface RedisAddress {
  readonly socket: { readonly host: string; readonly port: number } | { readonly path: string };
  readonly database: number;
  readonly username: string | null;
  readonly password: string | null;
  /** `null`: no TLS. */
  readonly tls: TlsOptions | null;
}

/** TLS settings of a `rediss://` URL, in Node's terms. */
export interface TlsOptions {
  readonly rejectUnauthorized: boolean;
  readonly checkHostname: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

const NETWORK = new Set(['redis:', 'rediss:']);
const SOCKET = new Set(['socket:', 'redis+socket:', 'unix:']);

/** Whether this is a URL of a form that {@link parseRedisUrl} reads. */
export function isRedisUrl(url: string): boolean {
  const scheme = schemeOf(url);
  return NETWORK.has(scheme) || SOCKET.has(scheme);
}

/**
 * Reads a URL. Of a fail-over list (`redis://a;redis://b`) the first is used.
 *
 * @param option the option it was given in, for the error
 * @throws TypeError that says what to write; it never holds the URL, which may have a password
 */
export function parseRedisUrl(url: string, option: string): RedisAddress {
  const first = url.split(';')[0]?.trim() ?? '';
  const scheme = schemeOf(first);
  if (scheme === 'sentinel:') {
    throw new TypeError(
      `celerySources: ${option} is a Sentinel URL, which this source does not open itself. ` +
        'Pass a client made by createSentinel() of the package redis, version 6, instead.',
    );
  }
  if (!NETWORK.has(scheme) && !SOCKET.has(scheme)) {
    throw new TypeError(
      `celerySources: ${option} ${scheme === '' ? 'is no URL' : `begins with ${scheme}`}. ` +
        'This source reads Redis; write redis://host:6379/0.',
    );
  }
  const parsed = parse(first.replace(/^[a-z+]+:(\/\/)?/i, 'redis://'), SOCKET.has(scheme), option);
  const query = parsed.searchParams;
  const database =
    query.get('virtual_host') ?? query.get('db') ?? (SOCKET.has(scheme) ? '' : parsed.pathname);
  return {
    socket: SOCKET.has(scheme)
      ? { path: decode(parsed.pathname, option) }
      : { host: hostOf(parsed), port: parsed.port === '' ? 6379 : Number(parsed.port) },
    database: databaseNumber(database, option),
    username: decode(parsed.username, option) || null,
    password: decode(parsed.password, option) || null,
    tls: scheme === 'rediss:' ? tlsOptions(query, option) : null,
  };
}

/** The address as people write it, without user, password and query. */
export function displayUrl(address: RedisAddress): string {
  if ('path' in address.socket) return `redis+socket://${address.socket.path}`;
  const { host, port } = address.socket;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${address.tls === null ? 'redis' : 'rediss'}://${name}:${port}/${address.database}`;
}

function schemeOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:/i.exec(url.trim())?.[0].toLowerCase() ?? '';
}

function parse(url: string, isSocket: boolean, option: string): URL {
  // An empty host is localhost in Celery, and there is none in a socket's URL.
  const withHost = url.replace(/^redis:\/\/((?:[^/?#]*@)?)(?=[:/?#]|$)(?![^/?#]*@)/, 'redis://$1localhost');
  try {
    const parsed = new URL(withHost);
    // `socket://path` without the third slash names no file.
    if (!isSocket || parsed.pathname.length > 1) return parsed;
  } catch {
    // Answered below, without the URL.
  }
  throw new TypeError(
    `celerySources: ${option} cannot be read as a URL. Write ${
      isSocket ? 'redis+socket:///path/to/redis.sock' : 'redis://user:password@host:6379/0'
    }; characters such as @ / # in a password must be percent-encoded.`,
  );
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function decode(text: string, option: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError(`celerySources: ${option} has a % that is not followed by two hexadecimal digits.`);
  }
}

function databaseNumber(text: string, option: string): number {
  const digits = text.replace(/^\/|\/$/g, '');
  if (/^\d{0,6}$/.test(digits)) return Number(digits);
  throw new TypeError(
    `celerySources: ${option} must end in the number of a database, as redis://host:6379/0.`,
  );
}

function tlsOptions(query: URLSearchParams, option: string): TlsOptions {
  const requirement = (query.get('ssl_cert_reqs') ?? 'required').toLowerCase().replace(/^cert_/, '');
  if (!['required', 'optional', 'none'].includes(requirement)) {
    throw new TypeError(`celerySources: ssl_cert_reqs in ${option} must be required, optional or none.`);
  }
  const ca = certificate(query, 'ssl_ca_certs', option);
  const cert = certificate(query, 'ssl_certfile', option);
  const key = certificate(query, 'ssl_keyfile', option);
  return {
    rejectUnauthorized: requirement !== 'none',
    checkHostname: !/^(false|0|no)$/i.test(query.get('ssl_check_hostname') ?? ''),
    ...(ca === null ? {} : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key }),
  };
}

function certificate(query: URLSearchParams, parameter: string, option: string): string | null {
  const path = query.get(parameter);
  if (path === null || path === '') return null;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new TypeError(`celerySources: the file that ${parameter} in ${option} names cannot be read.`);
  }
}
