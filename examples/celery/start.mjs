// Redis, two Celery workers, customers who order, and the monitor: node examples/celery/start.mjs
// REDIS_URL: use that Redis and start none. PORT: of the monitor, 3000 if not given.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from './app.mjs';
import { createProcesses, findPort, findPython, hasRedisServer, waitForPort } from './processes.mjs';

const HOST = '127.0.0.1';
const port = Number(process.env.PORT ?? 3000);
let redisUrl = process.env.REDIS_URL;

const python = findPython();
if (python === null) {
  fail(
    "This example needs Celery: pip install 'celery[redis]', or on Debian: apt install python3-celery python3-redis",
  );
}
if (redisUrl === undefined && !hasRedisServer()) {
  fail(
    'This example needs Redis: on Debian apt install redis-server, or give the address of yours as REDIS_URL.',
  );
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'celery-example-'));
const processes = createProcesses((message) => {
  console.error(message);
  end(1);
});
let app;
let ended = false;

async function end(code) {
  if (ended) return;
  ended = true;
  process.exitCode = code;
  await app?.close();
  await processes.end();
  rmSync(folder, { recursive: true, force: true });
}
process.on('SIGINT', () => end(0));
process.on('SIGTERM', () => end(0));

try {
  await start();
} catch (error) {
  console.error(
    error.code === 'EADDRINUSE' ? `Port ${port} is taken. Give another one as PORT.` : error.message,
  );
  await end(1);
}

async function start() {
  if (redisUrl === undefined) {
    const redisPort = await findPort();
    processes.start('redis-server', 'redis-server', [
      '--port',
      redisPort,
      '--bind',
      HOST,
      '--save',
      '',
      '--dir',
      folder,
    ]);
    await waitForPort(redisPort);
    redisUrl = `redis://${HOST}:${redisPort}/0`;
  }
  app = await startApp(redisUrl, HOST, port);

  const env = { REDIS_URL: redisUrl };
  const worker = ['-m', 'celery', '-A', 'tasks', 'worker', '-E', '-c', '2', '-l', 'warning'];
  // -B: one of them is the scheduler, too.
  const beat = ['-B', '-s', join(folder, 'schedule')];
  processes.start('worker 1', python, [...worker, '-n', 'orders@%h', '-Q', 'celery', ...beat], { env });
  processes.start('worker 2', python, [...worker, '-n', 'media@%h', '-Q', 'mail,photos'], { env });
  const customers = processes.start('customers', python, ['customers.py'], { env, stdout: 'pipe' });

  console.log(`
Celery runs on ${redisUrl}. Its monitor answers below ${app.url}

  ${['/healthcheck', '/api/components/', '/api/workers/', '/api/events/latest/', '/api/tasks/'].map((path) => app.url + path).join('\n  ')}

  curl '${app.url}/api/tasks/?state=FAILURE&limit=5'

Ctrl+C ends it. Waiting for the first order …`);
  customers.stdout.setEncoding('utf8').once('data', (id) => {
    console.log(`\n  ${app.url}/api/tasks/${id.trim().split('\n')[0]}/graph/`);
  });
  // Read on, or the customers would stop when the pipe is full.
  customers.stdout.resume();
}
