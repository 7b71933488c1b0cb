import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { engineProgram } from './engines.ts';
import { freePort } from './redis-server.ts';

/** The server to run: `RABBITMQ_SERVER_BIN`, or Debian's, without the script that wants to be root or `rabbitmq`. */
export const BINARY: string =
  engineProgram('rabbitmq-server') ??
  process.env.RABBITMQ_SERVER_BIN ??
  '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** How a RabbitMQ is started. */
export interface RabbitOptions {
  /** More lines of `rabbitmq.conf`. */
  readonly config?: readonly string[];
  /** Paths of certificates: it then listens with TLS, too. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
}

/** Where it listens. */
export interface Ports {
  readonly amqp: number;
  readonly tls: number;
  readonly management: number;
  readonly distribution: number;
  readonly epmd: number;
}

/** Ports that nothing listens on now. */
export async function freePorts({ tls }: RabbitOptions): Promise<Ports> {
  const [amqp = 0, management = 0, distribution = 0, epmd = 0, secure = 0] = await Promise.all(
    Array.from({ length: 5 }, freePort),
  );
  return { amqp, management, distribution, epmd, tls: tls === undefined ? 0 : secure };
}

/** Writes the configuration. @returns the environment that names it */
export function prepare(
  folder: string,
  ports: Ports,
  { config = [], tls }: RabbitOptions,
): NodeJS.ProcessEnv {
  const at = (name: string): string => join(folder, name);
  for (const name of ['home', 'mnesia', 'log']) mkdirSync(at(name));
  writeFileSync(at('plugins'), '[rabbitmq_management].\n');
  const lines = [
    `listeners.tcp.1 = 127.0.0.1:${ports.amqp}`,
    'management.tcp.ip = 127.0.0.1',
    `management.tcp.port = ${ports.management}`,
    // Statistics are then at most a second old.
    'collect_statistics_interval = 1000',
    ...(tls === undefined
      ? []
      : [
          `listeners.ssl.1 = 127.0.0.1:${ports.tls}`,
          `ssl_options.cacertfile = ${tls.ca}`,
          `ssl_options.certfile = ${tls.cert}`,
          `ssl_options.keyfile = ${tls.key}`,
        ]),
    ...config,
  ];
  writeFileSync(at('rabbitmq.conf'), `${lines.join('\n')}\n`);
  return {
    ...process.env,
    HOME: at('home'),
    RABBITMQ_NODENAME: `monitor${ports.amqp}@localhost`,
    RABBITMQ_MNESIA_BASE: at('mnesia'),
    RABBITMQ_LOG_BASE: at('log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_ENABLED_PLUGINS_FILE: at('plugins'),
    RABBITMQ_CONFIG_FILE: at('rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_PID_FILE: at('pid'),
    RABBITMQ_DIST_PORT: String(ports.distribution),
    ERL_EPMD_PORT: String(ports.epmd),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    // Schedulers that wait must not spin on a machine that runs everything else of the tests.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none',
  };
}

/** Erlang's register of nodes. Without one, Erlang starts one that outlives it. */
export function startEpmd(ports: Ports, env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(engineProgram('epmd') ?? 'epmd', ['-port', String(ports.epmd), '-address', '127.0.0.1'], {
    detached: true,
    stdio: 'ignore',
    env,
  });
}

/** In a process group of its own, as the script runs the server as its child. */
export function startServer(env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(BINARY, [], { detached: true, stdio: ['ignore', 'pipe', 'ignore'], env, cwd: env.HOME });
}

/** Runs the `rabbitmqctl` of the server. */
export async function runControl(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<void> {
  await promisify(execFile)(join(dirname(BINARY), 'rabbitmqctl'), [...args], { env, cwd: env.HOME });
}

/** Signals a process and its children. */
export function signalGroup(child: ChildProcess | null, signal: NodeJS.Signals): void {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended by itself.
  }
}
