/**
 * The cost of a running monitor: with two idle Celery workers, and with 1,000 tasks a second (events and
 * published results), each for 20 seconds. Redis, workers and publisher are processes of their own.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createClient } from 'redis';
import { celerySources } from '../src/celery.ts';
import { printTable } from './table.ts';

const SECONDS = 20;
const RATE = 1_000;
const PYTHON = process.env.TASK_MONITOR_PYTHON ?? '/usr/bin/python3';
const APP = fileURLToPath(new URL('../test/celery/app/', import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

if (
  spawnSync('redis-server', ['--version']).status !== 0 ||
  spawnSync(PYTHON, ['-c', 'import celery']).status !== 0
) {
  console.log('Steady cost: left out, redis-server or python3-celery is not installed.\n');
  process.exit(0);
}
const port = await freePort();
const children: ChildProcess[] = [];
const start = (command: string, args: string[], env = {}): ChildProcess => {
  const child = spawn(command, args, { stdio: 'ignore', cwd: APP, env: { ...process.env, ...env } });
  children.push(child);
  return child;
};
start('redis-server', ['--port', String(port), '--save', '', '--bind', '127.0.0.1']);
const url = `redis://127.0.0.1:${port}/0`;
await sleep(500);
const settings = { broker_url: url, result_backend: url };
const env = {
  SHOP_CONFIG: JSON.stringify({ ...settings, worker_hijack_root_logger: false }),
  C_FORCE_ROOT: '1',
  PYTHONDONTWRITEBYTECODE: '1',
};
for (const name of ['w1@alpha', 'w2@beta']) {
  start(PYTHON, ['-m', 'celery', '-A', 'shop', 'worker', '-E', '-n', name, '-P', 'solo'], env);
}
const sources = celerySources({ settings });
const context = { signal: new AbortController().signal };
const client = await createClient({ url, RESP: 2 })
  .on('error', () => {})
  .connect();

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** CPU time of this process, and commands that it sends to Redis, during the measurement. */
async function measure(): Promise<{ cpu: number; commands: number }> {
  const commandsSent = async (): Promise<number> => {
    const stats = String(await client.sendCommand(['INFO', 'commandstats']));
    const reads = stats.matchAll(/cmdstat_(\w+)[^:]*:calls=(\d+)/g);
    let sum = 0;
    for (const [, name = '', calls = '0'] of reads) {
      // Commands of workers and publisher are not the monitor's cost.
      if (
        !/^(publish|brpop|info|setex|multi|exec|lpush|sadd|subscribe|psubscribe|select|auth|hello|client)$/.test(
          name,
        )
      )
        sum += Number(calls);
    }
    return sum;
  };
  const before = await commandsSent();
  const cpu = process.cpuUsage();
  await sleep(SECONDS * 1_000);
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e6 / SECONDS, commands: ((await commandsSent()) - before) / SECONDS };
}

try {
  const deadline = Date.now() + 30_000;
  while ((await sources.workers.listWorkers(context)).length < 2 && Date.now() < deadline) await sleep(100);
  await sleep(2_000);
  const idle = await measure();
  const file = fileURLToPath(new URL('./steady-publisher.ts', import.meta.url));
  start(process.execPath, ['--import', 'tsx', file, url, String(RATE), String(SECONDS + 10)]);
  await sleep(4_000);
  const taskCount = async () => (await sources.history.getHistoryStats(context)).tasks;
  const known = await taskCount();
  const busy = await measure();
  const tasks = ((await taskCount()) - known) / SECONDS;
  const row = (label: string, { cpu, commands }: typeof idle): string[] => [
    label,
    `${(cpu * 100).toFixed(1)} %`,
    commands.toFixed(0),
  ];
  printTable(
    'Steady cost of a monitor',
    ['', 'CPU of one core', 'reads per second'],
    [
      row('two idle workers', idle),
      row(`${Math.round(tasks).toLocaleString('en')} tasks/s (4 events and 2 results each)`, busy),
    ],
  );
} finally {
  await sources.close();
  client.destroy();
  for (const child of children.reverse()) child.kill('SIGKILL');
}
process.exit(0);
