import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { REDIS, REDIS_PACKAGE } from './engines.ts';
import { atProcessEnd } from './process-end.ts';

/** Why tests that need Redis cannot run here; `null` when they can. */
export const redisMissing: string | null =
  spawnSync(REDIS, ['--version']).status === 0 ? null : `install ${REDIS_PACKAGE}`;

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
  /** Ends it and removes its files. */
  close(): Promise<void>;
}

/** Starts a Redis; `args` are added to its command line on every start. */
export async function startRedis(...args: string[]): Promise<RedisServer> {
  let port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'monitor-redis-'));
  let child: ChildProcess | null = null;

  async function start(...more: string[]): Promise<void> {
    const line = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const started = spawn(REDIS, [...line, '--dir', directory, ...args, ...more], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    child = started;
    endWithProcess(started);
    await untilSaid(started, 'Ready to accept connections');
  }

  /** Between finding a port and listening on it, another process may have taken it. */
  async function startSomewhere(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await start();
      } catch (error) {
        if (attempt === 3) throw error;
        port = await freePort();
      }
    }
  }

  async function kill(): Promise<void> {
    const ended = child;
    child = null;
    if (ended === null || ended.exitCode !== null || ended.signalCode !== null) return;
    const exited = new Promise((resolve) => ended.once('exit', resolve));
    ended.kill('SIGCONT');
    ended.kill('SIGKILL');
    await exited;
  }

  await startSomewhere();
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
  child.once(
    'exit',
    atProcessEnd(() => child.kill('SIGKILL')),
  );
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

/**
 * Resolves once the server prints that. A connection to its port would prove nothing: the server of another test may
 * listen there, and this one may have ended because of it.
 */
export function untilSaid(
  child: ChildProcess,
  text: string,
  from: Readable | null = child.stdout,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer): void => {
      output += String(chunk);
      if (!output.includes(text)) return;
      from?.off('data', read);
      from?.resume();
      resolve();
    };
    from?.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(new Error(`${child.spawnfile} ended with ${code}: ${output.slice(-500)}`)),
    );
  });
}

/** Polls until the condition holds. An expensive condition is checked less often. */
export async function until(condition: () => boolean | Promise<boolean>, ms = 45_000): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    const start = performance.now();
    if (await condition()) return;
    const now = performance.now();
    if (now > end) throw new Error(`The condition did not come true within ${ms} ms.`);
    await new Promise((resolve) => setTimeout(resolve, Math.min(100, Math.max(10, 3 * (now - start)))));
  }
}
