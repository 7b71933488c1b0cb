/** The only place that imports the package `amqplib`, and that only once a connection is opened. */
import diagnostics, { type ChannelListener } from 'node:diagnostics_channel';
import { failedImport } from '../server-problems.ts';
import type { AmqpClient } from './client.ts';
import type { AmqpEndpoint, OpenedClient } from './endpoint.ts';
import { AmqpError } from './problems.ts';
import { createSocketReads } from './reads.ts';
import { type AmqpAddress, displayAmqpUrl } from './urls.ts';

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
export function versionOf(client: AmqpClient): string | null {
  const version = (client as AmqpClient & Inner).connection?.serverProperties?.version;
  return typeof version === 'string' ? version : null;
}

type Connect = (address: object, options: object) => Promise<AmqpClient>;
