import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The server to run: `REDIS_SERVER_BIN`, or the one on the path. */
const BINARY = process.env.REDIS_SERVER_BIN ?? 'redis-server';

/** Why tests that need Redis cannot run here; `null` when they can. */
export const redisMissing: string | null =
  spawnSync(BINARY, ['--version']).status === 0 ? null : 'install redis-server';

/** A title that says why its tests are skipped. */
export function titleUnless(missing: string | null, title: string): string {
  return missing === null ? title : `${title} (skipped: ${missing})`;
}

/** A private Redis, in memory only, on a free port of loopback. */
export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:<port>/<database>` */
  url(database?: number): string;
  /** Starts it again on the same port, with more arguments if given. */
  start(...more: string[]): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Stops and continues it: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes what it left. */
  close(): Promise<void>;
}

/** Starts a Redis; `args` are added to its command line on every start. */
export async function startRedis(...args: string[]): Promise<RedisServer> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'monitor-redis-'));
  let child: ChildProcess | null = null;

  async function start(...more: string[]): Promise<void> {
    const line = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const started = spawn(BINARY, [...line, '--dir', directory, ...args, ...more], { stdio: 'ignore' });
    child = started;
    endWithProcess(started);
    const failed = new Promise<never>((_, reject) => {
      started.once('error', reject);
      started.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    });
    failed.catch(() => {});
    await Promise.race([listening(port), failed]);
  }

  async function kill(): Promise<void> {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const exited = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGCONT');
    running.kill('SIGKILL');
    await exited;
  }

  await start();
  return {
    port,
    url: (database = 0) => `redis://127.0.0.1:${port}/${database}`,
    start,
    kill,
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    async close() {
      await kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A test that fails half-way must leave no server behind. */
export function endWithProcess(child: ChildProcess): void {
  const end = (): boolean => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
}

/** A port that nothing listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** Resolves once something takes connections on the port. */
async function listening(port: number): Promise<void> {
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        const socket = createConnection({ port, host: '127.0.0.1' });
        socket.once('connect', () => socket.destroy() && resolve(true));
        socket.once('error', () => resolve(false));
      }),
    15_000,
  );
}

/** Polls until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`The condition did not come true within ${ms} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
