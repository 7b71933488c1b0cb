/** The processes of the host benchmark: hosts, loads and a Redis. They end with this process. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { askOnce } from './host-probes.ts';

/** A host that runs. */
export interface Host {
  readonly process: ChildProcess;
  readonly url: string;
}

const children = new Set<ChildProcess>();
const flags = ['--expose-gc', '--import', 'tsx'];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

function fileOf(name: string): string {
  return fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
}

export async function startHost(kind: string, redis: string): Promise<Host> {
  const child = fork(fileOf('host-server'), [kind, redis], { execArgv: flags });
  children.add(child);
  const [port] = (await once(child, 'message')) as [number];
  const host = { process: child, url: `http://127.0.0.1:${port}` };
  // Loading and compiling at the first request is not part of any figure.
  for (let warm = 0; warm < 20; warm += 1) await askOnce(`${host.url}/monitor/api/tasks/?limit=1`);
  return host;
}

export async function end(child: ChildProcess): Promise<void> {
  children.delete(child);
  if (child.exitCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

export interface Load {
  readonly process: ChildProcess;
  /** One when it begins, and one with the result. */
  readonly lines: AsyncIterator<string>;
}

/** Starts a load and waits until it begins. */
export async function startLoad(args: readonly string[]): Promise<Load> {
  const process_ = spawn(process.execPath, [...flags, fileOf('host-load'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(process_);
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return { process: process_, lines };
}

/** Starts a Redis; `null` where none is installed. */
export async function startRedis(): Promise<string | null> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  const args = ['--port', String(port), '--save', '', '--bind', '127.0.0.1'];
  const redis = spawn('redis-server', args, { stdio: 'ignore' });
  children.add(redis);
  const isMissing = await Promise.race([once(redis, 'error').then(() => true), sleep(500).then(() => false)]);
  return isMissing ? null : `redis://127.0.0.1:${port}/0`;
}
