import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates } from './certificates.ts';
import { atProcessEnd } from './process-end.ts';
import {
  BINARY,
  freePorts,
  type Ports,
  prepare,
  type RabbitOptions,
  runControl,
  signalGroup,
  startEpmd,
  startServer,
} from './rabbitmq-process.ts';
import { until, untilSaid } from './redis-server.ts';

/** Why tests that need RabbitMQ cannot run here; `null` when they can. */
export const rabbitMissing: string | null = existsSync(BINARY) ? null : 'install rabbitmq-server';

/** Permissions of a user in a virtual host, as regular expressions. Default: everything. */
export interface RabbitPermissions {
  readonly configure?: string;
  readonly write?: string;
  readonly read?: string;
}

/** A RabbitMQ with its management API, on free ports of loopback. */
export interface Rabbit {
  readonly port: number;
  /** With TLS, its certificate being for 127.0.0.1 and localhost; 0 without. */
  readonly tlsPort: number;
  /** Path of the certificate of the authority that has signed it; empty without TLS. */
  readonly ca: string;
  /** `amqp://guest:guest@127.0.0.1:<port>/<virtual host>`; default `/` */
  url(virtualHost?: string, user?: string, password?: string): string;
  /** A request to the management API, below `/api/`. @returns the body; `null` if there is none */
  manage<T>(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T>;
  /** Creates a virtual host with a name of its own, for a test file or a test. @returns its name */
  createVirtualHost(): Promise<string>;
  /** Creates a user, whose password is its name. */
  createUser(name: string, virtualHost: string, permissions?: RabbitPermissions): Promise<void>;
  /** The queues of a virtual host as RabbitMQ knows them now, not as its statistics do. */
  queues(virtualHost: string): Promise<readonly RabbitQueue[]>;
}

/** A queue in the management API. */
export interface RabbitQueue {
  readonly name: string;
  readonly durable: boolean;
  readonly exclusive: boolean;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A RabbitMQ of a test's own, which it may kill. */
export interface OwnRabbit extends Rabbit {
  /** Starts it again, on the same ports and data. */
  start(): Promise<void>;
  /** Shuts it down: durable queues are saved and connections are told. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Stops and continues it: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Runs `rabbitmqctl`, which takes some seconds. */
  control(...args: string[]): Promise<void>;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/** Starts a RabbitMQ: takes some five seconds. If no test kills it, use {@link sharedRabbit}. */
export async function startRabbit(options: RabbitOptions = {}): Promise<OwnRabbit> {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-rabbit-'));
  const ports = await freePorts(options);
  const environment = prepare(folder, ports, options);
  const epmd = startEpmd(ports, environment);
  let server: ChildProcess | null = null;
  const signal = (name: NodeJS.Signals): void => signalGroup(server, name);
  const forget = atProcessEnd(() => {
    signal('SIGKILL');
    signalGroup(epmd, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function end(name: NodeJS.Signals): Promise<void> {
    const ended = server;
    if (ended === null || ended.exitCode !== null || ended.signalCode !== null) return;
    const exited = new Promise((resolve) => ended.once('exit', resolve));
    signal('SIGCONT');
    signal(name);
    await exited;
    server = null;
  }

  async function start(): Promise<void> {
    server = startServer(environment);
    await untilSaid(server, 'Server startup complete');
  }

  await start();
  return {
    ...rabbitAt(ports, options.tls?.ca ?? ''),
    start,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    control: (...args) => runControl(environment, args),
    async close() {
      await end('SIGKILL');
      signalGroup(epmd, 'SIGKILL');
      forget();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

let shared: Promise<Rabbit> | null = null;

/**
 * The RabbitMQ that all test files of a run share, also those in other processes. Tests may not kill it. Use a virtual
 * host of your own. It ends with the run.
 */
export function sharedRabbit(): Promise<Rabbit> {
  shared ??= joinShared();
  return shared;
}

async function joinShared(): Promise<Rabbit> {
  // Workers of vitest have the same parent, which outlives them.
  const folder = join(tmpdir(), `monitor-rabbit-of-${process.ppid}`);
  const ready = join(folder, 'ports.json');
  if (isFirst(folder)) {
    const certificates = hasOpenssl() ? makeCertificates() : null;
    const tls = certificates === null ? {} : { tls: { ca: certificates.ca, ...certificates.server } };
    const ports = await freePorts(tls);
    const environment = prepare(folder, ports, tls);
    const epmd = startEpmd(ports, environment);
    const server = startServer(environment);
    endWith(process.ppid, [server, epmd], [folder, ...(certificates === null ? [] : [certificates.folder])]);
    await untilSaid(server, 'Server startup complete');
    for (const child of [server, epmd]) release(child);
    writeFileSync(`${ready}.new`, JSON.stringify({ ports, ca: certificates?.ca ?? '' }));
    renameSync(`${ready}.new`, ready);
  } else {
    await until(() => existsSync(ready), 110_000);
  }
  const { ports, ca } = JSON.parse(readFileSync(ready, 'utf8')) as { ports: Ports; ca: string };
  return rabbitAt(ports, ca);
}

function hasOpenssl(): boolean {
  return spawnSync('openssl', ['version']).status === 0;
}

/** Whether this process is the first one to make the folder. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** The process that started a shared server may end before the others. */
function release(child: ChildProcess): void {
  child.unref();
  child.removeAllListeners();
  for (const stream of child.stdio) (stream as { unref?: () => void } | null)?.unref?.();
}

/** Ends the servers once the process is gone, however it ended. */
function endWith(pid: number, children: readonly ChildProcess[], folders: readonly string[]): void {
  // Debian's sh knows no `--` in front of a process group.
  const kills = children.map((child) => `kill -KILL -${child.pid}`).join('; ');
  const removed = folders.map((folder) => `'${folder}'`).join(' ');
  const script = `while kill -0 ${pid} 2>/dev/null; do sleep 0.5; done; ${kills}; rm -rf ${removed}`;
  spawn('sh', ['-c', script], { detached: true, stdio: 'ignore' }).unref();
}

function rabbitAt(ports: Ports, ca: string): Rabbit {
  async function manage<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${ports.management}/api/${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from('guest:guest').toString('base64')}`,
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  }

  async function createUser(
    name: string,
    virtualHost: string,
    { configure = '.*', write = '.*', read = '.*' }: RabbitPermissions = {},
  ): Promise<void> {
    await manage('PUT', `users/${encodeURIComponent(name)}`, { password: name, tags: '' });
    const path = `permissions/${encodeURIComponent(virtualHost)}/${encodeURIComponent(name)}`;
    await manage('PUT', path, { configure, write, read });
  }

  return {
    port: ports.amqp,
    tlsPort: ports.tls,
    ca,
    url: (virtualHost = '/', user = 'guest', password = user) =>
      `amqp://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${ports.amqp}/` +
      encodeURIComponent(virtualHost),
    manage,
    createUser,
    async createVirtualHost() {
      const name = `test-${crypto.randomUUID()}`;
      await manage('PUT', `vhosts/${name}`);
      const everything = { configure: '.*', write: '.*', read: '.*' };
      await manage('PUT', `permissions/${name}/guest`, everything);
      return name;
    },
    queues: (virtualHost) =>
      manage('GET', `queues/${encodeURIComponent(virtualHost)}?disable_stats=true&enable_queue_totals=true`),
  };
}
