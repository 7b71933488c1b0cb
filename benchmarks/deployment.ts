/**
 * The CPU time of a monitor beside a live deployment: 20,000 real tasks over workers with a pool of processes
 * and one of threads, with 4 events and 2 results each. Flower runs beside it, on the same broker at the same
 * time, where Python can import it (`PYTHONPATH`). The monitor is bundled: importing TypeScript takes CPU time.
 *
 * `npm run bench -- deployment`, Linux only. `--tasks 2000 --seconds 10` make it shorter, `--profile FOLDER`
 * writes a CPU profile of the monitor.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { createClient } from 'redis';
import { celeryApp, celeryMissing } from '../test/helpers/celery-app.ts';
import { freePort, redisMissing, startRedis, until } from '../test/helpers/redis-server.ts';
import { cpuOf } from './cpu-of.ts';
import { printTable } from './table.ts';

const PYTHON = process.env.TASK_MONITOR_PYTHON ?? '/usr/bin/python3';
const APP = fileURLToPath(new URL('../test/celery/app/', import.meta.url));
const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Time for all processes to settle, before and after the load, in milliseconds. */
const SETTLE_MS = 4_000;
/** The workers' queues, and how long they may take to the end of the tasks after the last one was sent. */
const QUEUES = ['processes', 'threads'];
const MOST_LATE_MS = 10_000;

/** Sends tasks evenly over a time, to both queues in turn. */
const PUBLISHER = `
import sys, time, shop
count, seconds = int(sys.argv[1]), float(sys.argv[2])
start = time.time()
for n in range(count):
    shop.add.apply_async((n, n), queue=('processes', 'threads')[n % 2])
    ahead = start + (n + 1) * seconds / count - time.time()
    if ahead > 0:
        time.sleep(ahead)
`;

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    tasks: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '85' },
    profile: { type: 'string' },
  },
});
const missing = process.platform === 'linux' ? (redisMissing ?? celeryMissing) : 'run it on Linux';
if (missing !== null) {
  console.log(`Live deployment: left out, ${missing}.\n`);
  process.exit(0);
}
const isFlowerInstalled = spawnSync(PYTHON, ['-c', 'import flower.command']).status === 0;
const children: ChildProcess[] = [];

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function startMonitor(folder: string, broker: string): Promise<{ pid: number; url: string }> {
  const file = join(folder, 'deployment-server.js');
  await build({
    entryPoints: [fileURLToPath(new URL('./deployment-server.ts', import.meta.url))],
    outfile: file,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  });
  const flags = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const child = spawn(process.execPath, [...flags, file, broker], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.push(child);
  const [port] = await once(child, 'message');
  return { pid: child.pid ?? 0, url: `http://127.0.0.1:${port}/monitor` };
}

async function startFlower(env: NodeJS.ProcessEnv): Promise<{ pid: number; url: string }> {
  const port = await freePort();
  const args = ['-m', 'flower', '-A', 'shop', 'flower', '--address=127.0.0.1', `--port=${port}`];
  const child = spawn(PYTHON, args, { cwd: APP, env, stdio: 'ignore' });
  children.push(child);
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/healthcheck`).catch(() => null))?.ok === true);
  return { pid: child.pid ?? 0, url };
}

const tasks = Number(values.tasks);
const redis = await startRedis();
const broker = redis.url();
const settings = {
  broker_url: broker,
  result_backend: broker,
  task_send_sent_event: true,
  task_track_started: true,
};
const app = celeryApp(settings);
const client = await createClient({ url: broker })
  .on('error', () => {})
  .connect();
// Within the project, so that packages are found.
const folder = mkdtempSync(join(ROOT, '.cache/deployment-'));
try {
  const pools = [
    ['processes@bench', '-Q', 'processes', '-P', 'prefork', '-c', '2'],
    ['threads@bench', '-Q', 'threads', '-P', 'threads', '-c', '4'],
  ];
  await Promise.all(pools.map((pool) => app.worker('-n', ...pool)));
  const env = { ...process.env, SHOP_CONFIG: JSON.stringify(settings), PYTHONDONTWRITEBYTECODE: '1' };
  const monitor = await startMonitor(folder, broker);
  const flower = isFlowerInstalled ? await startFlower(env) : null;
  await sleep(SETTLE_MS);

  const watched = [monitor.pid, ...(flower === null ? [] : [flower.pid])];
  const starts = watched.map(cpuOf);
  const begun = performance.now();
  const publisher = spawn(PYTHON, ['-c', PUBLISHER, values.tasks, values.seconds], {
    cwd: APP,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(publisher);
  await once(publisher, 'exit');
  const seconds = (performance.now() - begun) / 1_000;
  // A machine that is too slow for the workers leaves tasks in the queues.
  await until(async () => (await client.exists(QUEUES)) === 0, MOST_LATE_MS).catch(() => {});
  await sleep(SETTLE_MS);
  const ends = watched.map(cpuOf);

  const answer = await fetch(`${monitor.url}/api/tasks/?state=SUCCESS&limit=1`);
  const { total } = (await answer.json()) as { total: number | null };
  const counted =
    flower === null
      ? 0
      : [
          ...(await (await fetch(`${flower.url}/metrics`)).text()).matchAll(
            /^flower_events_total\{.*\} (\S+)/gm,
          ),
        ]
          .map(([, count]) => Number(count))
          .reduce((sum, count) => sum + count, 0);
  const row = (label: string, index: number, received: string): string[] => {
    const [start = 0, end = 0] = [starts[index], ends[index]];
    return [label, start.toFixed(2), (end - start).toFixed(2), end.toFixed(2), received];
  };
  printTable(
    `A live deployment: ${tasks.toLocaleString('en')} tasks in ${seconds.toFixed(0)} s`,
    ['CPU seconds', 'start', 'load', 'together', 'received'],
    [
      row('monitor', 0, `${total?.toLocaleString('en')} tasks that succeeded`),
      ...(flower === null ? [] : [row('Flower', 1, `${counted.toLocaleString('en')} events`)]),
    ],
  );
  if (flower === null) console.log('Flower was not measured: Python cannot import it (PYTHONPATH).\n');
} finally {
  for (const child of children) {
    if (child.connected) child.disconnect();
    else child.kill('SIGKILL');
  }
  client.destroy();
  await app.close();
  await redis.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
