/**
 * Opens connections of our own to RabbitMQ, and borrows the host's. The only place that imports the package `amqplib`,
 * and that only once a connection is opened.
 */
import diagnostics, { type ChannelListener } from 'node:diagnostics_channel';
import { failedImport } from '../server-problems.ts';
import { hostAndPort, schemeOf, splitUrl } from '../server-urls.ts';
import { type TlsOptions, type TlsParameters, tlsOptions } from '../tls.ts';
import { type AmqpClient, isAmqpClient } from './channel.ts';
import { AmqpError, amqpError } from './problems.ts';
import { createSocketReads } from './reads.ts';

/** A RabbitMQ to which we open connections. */
export interface AmqpEndpoint {
  /** How many hosts there are to try. */
  readonly hosts: number;
  /** Of one of the hosts, without user, password and query; `null` if the host's connection does not reveal it. */
  url(host: number): string | null;
  /** `null` if the host's connection does not reveal it. */
  readonly virtualHost: string | null;
  /** The same hosts and login with another virtual host; `null` if the host's connection has only this one. */
  inVirtualHost(name: string): AmqpEndpoint | null;
  /**
   * Connects to one of the hosts.
   *
   * @param host index of the host; any whole number, of which the remainder counts
   * @param signal ends the attempt, and the connection at once
   * @throws an error of amqplib or Node, or `AmqpError`
   */
  open(host: number, signal: AbortSignal): Promise<OpenedClient>;
}

/** A connection that was opened, or lent by the host. */
export interface OpenedClient {
  readonly client: AmqpClient;
  /** Whether it belongs to the host: it is not closed then. */
  readonly isLent: boolean;
  /**
   * To be called once there are listeners: passes on the data that arrived with the opening, see `reads.ts`.
   */
  readonly startReading?: () => void;
  /** Lets messages collect from now on, see `reads.ts`. Absent if they arrive as they are sent. */
  readonly startPacing?: () => void;
  /** Such as `3.10.8`; `null` if unknown. */
  readonly version: string | null;
}

/** Seconds between heartbeats, unless the settings name another number. A dead peer is noticed after two or three. */
const HEARTBEAT = 10;

/** Undocumented members of amqplib. Everything may be absent in another version. */
interface Inner {
  readonly connection?: {
    readonly serverProperties?: Readonly<Record<string, unknown>>;
    readonly stream?: Unreferencable;
    readonly heartbeater?: {
      readonly sendTimer?: Unreferencable;
      readonly recvTimer?: Unreferencable;
    } | null;
  };
}

interface Unreferencable {
  unref?(): unknown;
}

/** Opens connections of our own. amqplib's recovery is not used: it knows one host and sets no deadline. */
export function endpointOf(addresses: readonly [AmqpAddress, ...AmqpAddress[]]): AmqpEndpoint {
  const [first] = addresses;
  const at = (host: number): AmqpAddress => addresses[host % addresses.length] ?? first;
  return {
    hosts: addresses.length,
    url: (host) => displayAmqpUrl(at(host)),
    virtualHost: first.virtualHost,
    inVirtualHost(virtualHost) {
      const [one, ...others] = addresses.map((address) => ({ ...address, virtualHost }));
      return one === undefined ? null : endpointOf([one, ...others]);
    },
    open: (host, signal) => connect(at(host), signal),
  };
}

async function loadAmqplib() {
  try {
    return await import('amqplib');
  } catch (error) {
    throw failedImport('amqplib', error, AmqpError);
  }
}

async function connect(address: AmqpAddress, signal: AbortSignal): Promise<OpenedClient> {
  const amqplib = await loadAmqplib();
  const open = amqplib.connect as unknown as Connect;
  signal.throwIfAborted();
  // amqplib does not expose its socket, which would keep the process alive while it is connecting.
  const unreference = ({ socket }: { socket?: Unreferencable }): void => void socket?.unref?.();
  diagnostics.subscribe('net.client.socket', unreference as ChannelListener);
  const reads = createSocketReads();
  const { host, port, virtualHost, username, password, tls, heartbeat, isExternal } = address;
  const login = isExternal ? { credentials: EXTERNAL } : {};
  const opening = open(
    {
      protocol: tls === null ? 'amqp' : 'amqps',
      hostname: host,
      port,
      vhost: encodeURIComponent(virtualHost),
      username,
      password,
      heartbeat: heartbeat ?? HEARTBEAT,
    },
    {
      ...login,
      ...nodeTls(address),
      ...reads.socketOptions,
      noDelay: true,
      signal,
      clientProperties: PROPERTIES,
    },
  ) as Promise<AmqpClient & Inner>;
  // The socket has been made by now.
  diagnostics.unsubscribe('net.client.socket', unreference as ChannelListener);
  const client = await opening;
  return {
    client: withoutReferences(client),
    isLent: false,
    version: versionOf(client),
    startReading: reads.release,
    startPacing: reads.startPacing,
  };
}

/** The login by the certificate of the client. */
const EXTERNAL = { mechanism: 'EXTERNAL', response: () => Buffer.alloc(0) };

/** Shown in RabbitMQ's list of connections. */
const PROPERTIES = { connection_name: 'express-task-monitor' };

function nodeTls({ tls, serverName }: AmqpAddress): object {
  if (tls === null) return {};
  const { checkHostname, ...options } = tls;
  return {
    ...options,
    ...(serverName === null ? {} : { servername: serverName }),
    ...(checkHostname ? {} : { checkServerIdentity: () => undefined }),
  };
}

/** A monitor must not keep a process alive that has nothing else to do. */
function withoutReferences<Client extends Inner>(client: Client): Client {
  const { stream, heartbeater } = client.connection ?? {};
  for (const holder of [stream, heartbeater?.sendTimer, heartbeater?.recvTimer]) holder?.unref?.();
  return client;
}

/** The version of the server at the other end of a connection; `null` if it does not report it. */
function versionOf(client: AmqpClient): string | null {
  const version = (client as AmqpClient & Inner).connection?.serverProperties?.version;
  return typeof version === 'string' ? version : null;
}

type Connect = (address: object, options: object) => Promise<AmqpClient>;

/**
 * A connection of the host's: one that `connect` of amqplib has made, with or without its recovery, or a function that
 * makes one. The host's connection is lent and never closed. A connection made by the function is ours: it is called
 * for each connection that is needed, and again whenever one was lost.
 */
type GivenAmqpConnection = AmqpClient | (() => Promise<AmqpClient>);

/** Whether a value is one of these. */
export function isAmqpConnection(value: unknown): value is GivenAmqpConnection {
  return typeof value === 'function' || isAmqpClient(value);
}

/**
 * Opens channels on the connections of the host.
 *
 * @param virtualHost of the app's configuration, if it has one
 */
export function hostEndpoint(given: GivenAmqpConnection, virtualHost: string | null): AmqpEndpoint {
  return {
    hosts: 1,
    url: () => null,
    virtualHost,
    inVirtualHost: () => null,
    open: typeof given === 'function' ? (_, signal) => openOwn(given, signal) : lend(given),
  };
}

async function openOwn(connect: () => Promise<AmqpClient>, signal: AbortSignal): Promise<OpenedClient> {
  const client = await connect();
  if (!isAmqpClient(client)) throw amqpError('NOTCLIENT');
  const end = (): void => void client.close().catch(() => {});
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return { client, isLent: false, version: versionOf(client) };
}

/** With the recovery of amqplib, a channel can be opened once the connection is back; without it, never again. */
function lend(client: AmqpClient): AmqpEndpoint['open'] {
  let isWatched = false;
  let isClosed = false;
  let asking: Promise<void> | null = null;
  return async () => {
    if (!isWatched) {
      isWatched = true;
      client.on('close', () => {
        isClosed = true;
      });
    }
    if (isClosed) throw amqpError('HOSTCLOSED');
    // All attempts wait for one channel: amqplib keeps every request until the connection is back.
    asking ??= openAnyChannel(client).finally(() => {
      asking = null;
    });
    await asking;
    return { client, isLent: true, version: versionOf(client) };
  };
}

async function openAnyChannel(client: AmqpClient): Promise<void> {
  const channel = await client.createChannel();
  channel.on('error', () => {});
  await channel.close();
}

/**
 * Address of one RabbitMQ, and the login there, by URLs as Celery accepts them (kombu/connection.py, kombu/utils/url.py,
 * kombu/transport/pyamqp.py).
 */
interface AmqpAddress {
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
function displayAmqpUrl(address: AmqpAddress): string {
  const { tls, virtualHost } = address;
  const path = virtualHost === '/' ? '' : encodeURIComponent(virtualHost);
  return `${tls === null ? 'amqp' : 'amqps'}://${hostAndPort(address)}/${path}`;
}
