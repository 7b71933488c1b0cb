import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { delimiter, join } from 'node:path';

/** Whether a program is on the PATH. */
export function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a program and returns how to end it. What it wrote last is in the error if it ends by itself. */
export function startProcess(
  program: string,
  args: readonly string[],
): { stop(): Promise<void>; check(): void } {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  let failure: Error | null = null;
  child.stderr?.on('data', (chunk) => {
    said = (said + chunk).slice(-2_000);
  });
  const ended = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      failure = error;
      resolve();
    });
    child.on('exit', () => {
      failure = new Error(`${program} ended: ${said}`);
      resolve();
    });
  });
  return {
    check() {
      if (failure !== null) throw failure;
    },
    async stop() {
      child.kill('SIGTERM');
      const hard = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(hard);
    },
  };
}

/** Asks until an answer satisfies. */
export async function poll<T>(
  ask: () => Promise<T>,
  good: (value: T) => boolean,
  timeoutMs: number,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    let seen: unknown;
    try {
      const value = await ask();
      if (good(value)) return value;
      seen = value;
    } catch (error) {
      seen = error;
    }
    if (performance.now() > end)
      throw new Error(`No satisfying answer; the last was ${JSON.stringify(seen) ?? seen}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
