/**
 * A burst over a real Redis: 50,000 tasks published at 20,000 events/s by another process; how many of
 * them the Celery source knows afterwards.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { celerySources } from '../src/celery.ts';
import { printTable } from './table.ts';

const TASKS = 50_000;
const RATE = 20_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

const port = await freePort();
const redis = spawn('redis-server', ['--port', String(port), '--save', '', '--bind', '127.0.0.1'], {
  stdio: 'ignore',
});
const missing = await Promise.race([
  once(redis, 'error').then(() => true),
  new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 500)),
]);
if (missing) {
  console.log(
    'Burst over Redis: left out, redis-server is not installed (Debian: apt-get install redis-server).\n',
  );
  process.exit(0);
}
const broker = `redis://127.0.0.1:${port}/0`;
const sources = celerySources({ broker, retention: { maxTasks: TASKS * 2 } });
const context = { signal: new AbortController().signal };
const deadline = Date.now() + 60_000;
try {
  while (sources.tasks.status?.().ok !== true && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const file = fileURLToPath(new URL('./burst-publisher.ts', import.meta.url));
  const publisher = spawn(process.execPath, ['--import', 'tsx', file, broker, String(TASKS), String(RATE)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  publisher.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const before = process.cpuUsage();
  await once(publisher, 'exit');
  const expected = TASKS * 4;
  const received = async () => (await sources.history.getHistoryStats(context)).eventsReceived;
  while ((await received()) < expected && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { user, system } = process.cpuUsage(before);
  const { tasks } = await sources.history.getHistoryStats(context);
  const cpu = (user + system) / 1e6;
  printTable(
    'A burst of events over Redis',
    ['', ''],
    [
      ['tasks published', TASKS.toLocaleString('en')],
      ['events per second', Number(output.trim()).toLocaleString('en')],
      ['events received', (await received()).toLocaleString('en')],
      ['tasks known afterwards', tasks.toLocaleString('en')],
      ['events per CPU second of the monitor', Math.round(expected / cpu).toLocaleString('en')],
    ],
  );
} finally {
  await sources.close();
  redis.kill();
}
