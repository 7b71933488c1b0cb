/**
 * Opens connections of our own to RabbitMQ, and borrows the host's. The only place that imports the package `amqplib`,
 * and that only once a connection is opened.
 */
import diagnostics, { type ChannelListener } from 'node:diagnostics_channel';
import { failedImport } from '../server-problems.ts';
import { type AmqpClient, isAmqpClient } from './client.ts';
import { AmqpError, amqpError } from './problems.ts';
import { createSocketReads } from './reads.ts';
import { type AmqpAddress, displayAmqpUrl } from './urls.ts';

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
