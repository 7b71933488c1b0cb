import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProcesses, findPort, hasRedisServer, waitForPort } from './processes.mjs';

const HOST = '127.0.0.1';

/** Ends the program with a message. */
export function fail(message) {
  console.error(message);
  process.exit(1);
}

/**
 * Runs an example on the Redis at REDIS_URL, or on one of its own, until Ctrl+C.
 *
 * @param start gets the arguments of `runProgram`, and `redisUrl`
 */
export async function runExample(start) {
  if (process.env.REDIS_URL === undefined && !hasRedisServer()) {
    fail(
      'This example needs Redis: on Debian apt install redis-server, or give the address of yours as REDIS_URL.',
    );
  }
  await runProgram(async ({ processes, folder, ...rest }) => {
    const redisUrl = process.env.REDIS_URL ?? (await startRedis(processes, folder));
    await start({ redisUrl, processes, folder, ...rest });
  });
}

/**
 * Runs an example until Ctrl+C.
 * PORT: where its monitor listens, 3000 if not given.
 *
 * @param start is given `{ host, port, folder, processes, onEnd }`. What it gives to `onEnd` is called at the end, the
 *   last first; then what it started with `processes.start` is ended
 */
export async function runProgram(start) {
  const port = Number(process.env.PORT ?? 3000);
  const folder = mkdtempSync(join(tmpdir(), 'monitor-example-'));
  const processes = createProcesses((message) => {
    console.error(message);
    end(1);
  });
  const closers = [];
  let ended = false;

  async function end(code) {
    if (ended) return;
    ended = true;
    process.exitCode = code;
    for (const close of closers.reverse()) await close();
    await processes.end();
    rmSync(folder, { recursive: true, force: true });
  }
  function onEnd(close) {
    if (ended) close();
    else closers.push(close);
  }
  process.on('SIGINT', () => end(0));
  process.on('SIGTERM', () => end(0));

  try {
    await start({ host: HOST, port, folder, processes, onEnd });
  } catch (error) {
    console.error(
      error.code === 'EADDRINUSE' ? `Port ${port} is taken. Give another one as PORT.` : error.message,
    );
    await end(1);
  }
}

async function startRedis(processes, folder) {
  const port = await findPort();
  processes.start('redis-server', 'redis-server', [
    '--port',
    port,
    '--bind',
    HOST,
    '--save',
    '',
    '--dir',
    folder,
  ]);
  await waitForPort(port);
  return `redis://${HOST}:${port}/0`;
}
