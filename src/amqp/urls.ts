/** AMQP URLs as Celery accepts them (kombu/connection.py, kombu/utils/url.py, kombu/transport/pyamqp.py). */
import { hostAndPort, schemeOf, splitUrl } from '../server-urls.ts';
import { type TlsOptions, type TlsParameters, tlsOptions } from '../tls.ts';

/** Address of one RabbitMQ, and the login there. */
export interface AmqpAddress {
  readonly host: string;
  readonly port: number;
  readonly virtualHost: string;
  readonly username: string;
  readonly password: string;
  /** `null`: no TLS. */
  readonly tls: TlsOptions | null;
  /** The name that the certificate must have; `null`: the host. */
  readonly serverName: string | null;
  /** Seconds between heartbeats, 0 for none; `null`: the default. */
  readonly heartbeat: number | null;
  /** Whether the certificate of the client is the login. */
  readonly isExternal: boolean;
}

/** With and without TLS. kombu has several names for its clients. */
const PLAIN = new Set(['amqp:', 'pyamqp:', 'librabbitmq:']);
const SECURE = new Set(['amqps:', 'pyamqps:']);

const EXAMPLE = 'amqp://user:password@host:5672/vhost';

/** Python's parameters of TLS to RabbitMQ, under the names that they have for Redis. */
const TLS_NAMES: Readonly<Record<string, string>> = {
  ca_certs: 'ssl_ca_certs',
  certfile: 'ssl_certfile',
  keyfile: 'ssl_keyfile',
  cert_reqs: 'ssl_cert_reqs',
  check_hostname: 'ssl_check_hostname',
};

/** The settings that complete an AMQP URL. */
export interface AmqpContext {
  /** The option that the URL was given in, for error messages. */
  readonly option: string;
  /** A setting that turns TLS on, whatever the scheme. Parameters of the URL take precedence over its own. */
  readonly ssl: TlsParameters | null;
  /** Seconds between heartbeats, 0 for none; `null`: the default. The parameter of a URL takes precedence. */
  readonly heartbeat: number | null;
  /** Such as `PLAIN`; `EXTERNAL` is the login by certificate. `null`: the default. */
  readonly loginMethod: string | null;
}

/** Whether {@link parseAmqpUrls} knows the scheme. */
export function isAmqpUrl(url: string): boolean {
  const scheme = schemeOf(url);
  return PLAIN.has(scheme) || SECURE.has(scheme);
}

/**
 * Parses one URL, or several that are separated by `;` and are tried in this order.
 *
 * @throws TypeError that says what to write; it never contains the URL, which may have a password
 */
export function parseAmqpUrls(urls: string, context: AmqpContext): [AmqpAddress, ...AmqpAddress[]] {
  const [first = '', ...others] = urls
    .split(';')
    .map((url) => url.trim())
    .filter((url) => url !== '');
  const scheme = schemeOf(first);
  const parse = (url: string): AmqpAddress =>
    parseOne(url.includes('://') ? url : `${scheme}//${url}`, context);
  return [parse(first), ...others.map(parse)];
}

function parseOne(url: string, { option, ssl, heartbeat, loginMethod }: AmqpContext): AmqpAddress {
  const scheme = schemeOf(url);
  if (!isAmqpUrl(url)) {
    const found = scheme === '' ? 'is not a URL' : `has a URL that begins with ${scheme}`;
    throw new TypeError(`celerySources: '${option}' ${found}. Write a URL such as ${EXAMPLE}.`);
  }
  const { host, port, path, username, password, query } = splitUrl(url, option, EXAMPLE);
  const ofUrl = { option, values: Object.fromEntries(query) };
  const tables = (ssl === null ? [ofUrl] : [ofUrl, ssl]).map(renamed);
  const isSecure = SECURE.has(scheme) || ssl !== null;
  const serverName = ssl?.values.server_hostname;
  return {
    host,
    port: port ?? (isSecure ? 5671 : 5672),
    // The default `/` is written as an empty path, as `/`, or as `//`.
    virtualHost: path.replace(/^\//, '') || '/',
    username: username ?? 'guest',
    password: password ?? 'guest',
    tls: isSecure ? tlsOptions(tables) : null,
    serverName: typeof serverName === 'string' && serverName !== '' ? serverName : null,
    heartbeat: seconds(query.get('heartbeat'), option) ?? heartbeat,
    isExternal: /^external$/i.test(query.get('login_method') ?? loginMethod ?? ''),
  };
}

function renamed({ option, values }: TlsParameters): TlsParameters {
  const entries = Object.entries(values).map(([name, value]) => [TLS_NAMES[name] ?? name, value]);
  return { option, values: Object.fromEntries(entries) };
}

function seconds(text: string | null, option: string): number | null {
  if (text === null || text === '') return null;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return Math.ceil(value);
  throw new TypeError(`celerySources: 'heartbeat' in the URL of '${option}' must be a number of seconds.`);
}

/** Formats the address as a URL, without user, password and query. */
export function displayAmqpUrl(address: AmqpAddress): string {
  const { tls, virtualHost } = address;
  const path = virtualHost === '/' ? '' : encodeURIComponent(virtualHost);
  return `${tls === null ? 'amqp' : 'amqps'}://${hostAndPort(address)}/${path}`;
}
