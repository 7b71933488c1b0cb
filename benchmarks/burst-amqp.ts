/**
 * A burst over a real RabbitMQ: 200,000 events, one in each message, as fast as another process can publish them. First
 * without a listener, then with the monitor, then with Flower where Python can import it (`PYTHONPATH`): the CPU time
 * of each, and that of RabbitMQ.
 *
 * `npm run bench -- burst-amqp`, Linux only. `--tasks 5000` makes it shorter, `--profile FOLDER` writes a CPU profile of
 * the monitor.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { rabbitMissing, startRabbit } from '../test/helpers/rabbitmq.ts';
import { freePort, until } from '../test/helpers/redis-server.ts';
import { cpuOf } from './cpu-of.ts';
import { printTable } from './table.ts';

const PYTHON = process.env.TASK_MONITOR_PYTHON ?? '/usr/bin/python3';
const APP = fileURLToPath(new URL('../test/celery/app/', import.meta.url));
const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Events of each task. */
const EVENTS = 4;
const SETTLE_MS = 3_000;

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { tasks: { type: 'string', default: '50000' }, profile: { type: 'string' } },
});
const missing = process.platform === 'linux' ? rabbitMissing : 'run it on Linux';
if (missing !== null) {
  console.log(`Burst over RabbitMQ: left out, ${missing}.\n`);
  process.exit(0);
}
const tasks = Number(values.tasks);
const children: ChildProcess[] = [];
const rabbit = await startRabbit();
const broker = rabbit.url();
// Within the project, so that packages are found.
const folder = mkdtempSync(join(ROOT, '.cache/burst-'));

/** The listener during a burst. */
interface Listener {
  readonly pid: number;
  /** Events that it has received. */
  events(): Promise<number>;
  /** The tasks that it knows at the end. */
  summary(): Promise<string>;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function bundle(name: string): Promise<string> {
  const outfile = join(folder, `${name}.js`);
  const entryPoints = [fileURLToPath(new URL(`./${name}.ts`, import.meta.url))];
  const target = 'node20.19';
  const form = { format: 'esm', platform: 'node', target, packages: 'external' } as const;
  await build({ entryPoints, outfile, bundle: true, logLevel: 'warning', ...form });
  return outfile;
}

async function startMonitor(): Promise<Listener> {
  const flags = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const file = await bundle('burst-amqp-monitor');
  const child = spawn(process.execPath, [...flags, file, broker, String(tasks)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.push(child);
  await once(child, 'message');
  const ask = async (): Promise<{ events: number; tasks: number }> => {
    child.send('stats');
    const [stats] = await once(child, 'message');
    return stats as { events: number; tasks: number };
  };
  return {
    pid: child.pid ?? 0,
    events: async () => (await ask()).events,
    summary: async () => `${(await ask()).tasks.toLocaleString('en')} tasks`,
  };
}

async function startFlower(): Promise<Listener> {
  const port = await freePort();
  const settings = { broker_url: broker, result_backend: 'disabled://' };
  const env = { ...process.env, SHOP_CONFIG: JSON.stringify(settings), PYTHONDONTWRITEBYTECODE: '1' };
  const line = ['-m', 'flower', '-A', 'shop', 'flower', '--address=127.0.0.1', `--port=${port}`];
  const child = spawn(PYTHON, [...line, `--max_tasks=${2 * tasks}`], { cwd: APP, env, stdio: 'ignore' });
  children.push(child);
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/healthcheck`).catch(() => null))?.ok === true);
  return {
    pid: child.pid ?? 0,
    async events() {
      const text = await (await fetch(`${url}/metrics`)).text();
      const counts = [...text.matchAll(/^flower_events_total\{.*\} (\S+)/gm)].map(([, count]) =>
        Number(count),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    },
    summary: async () => 'events older than 5 seconds are dropped by its queue',
  };
}

/** Publishes the burst. @returns events per second */
async function publish(file: string): Promise<number> {
  const publisher = spawn(process.execPath, [file, broker, String(tasks)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(publisher);
  let output = '';
  publisher.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(publisher, 'exit');
  return Number(output.trim());
}

/** RabbitMQ's statistics know it some seconds after the start. */
async function serverPid(): Promise<number> {
  let pid = Number.NaN;
  await until(async () => {
    const [node] = await rabbit.manage<{ os_pid?: string }[]>('GET', 'nodes');
    pid = Number(node?.os_pid);
    return pid > 0;
  });
  return pid;
}

/** @returns a row of the table */
async function measure(name: string, listener: Listener | null, publisher: string): Promise<string[]> {
  const server = await serverPid();
  await sleep(SETTLE_MS);
  const before = [cpuOf(server), listener === null ? 0 : cpuOf(listener.pid)] as const;
  const rate = await publish(publisher);
  let received = 0;
  for (let last = -1; listener !== null && received < tasks * EVENTS && received !== last; ) {
    last = received;
    await sleep(SETTLE_MS);
    received = await listener.events();
  }
  const used = listener === null ? 0 : cpuOf(listener.pid) - before[1];
  const ofServer = cpuOf(server) - before[0];
  return [
    name,
    rate.toLocaleString('en'),
    received.toLocaleString('en'),
    used.toFixed(2),
    used === 0 ? '' : Math.round(received / used).toLocaleString('en'),
    ofServer.toFixed(2),
    listener === null ? '' : await listener.summary(),
  ];
}

try {
  const publisher = await bundle('burst-amqp-publisher');
  const rows = [await measure('nobody', null, publisher)];
  const monitor = await startMonitor();
  rows.push(await measure('the monitor', monitor, publisher));
  const child = children.find(({ pid }) => pid === monitor.pid);
  child?.disconnect();
  if (child !== undefined) await once(child, 'exit');
  if (spawnSync(PYTHON, ['-c', 'import flower.command']).status === 0) {
    rows.push(await measure('Flower', await startFlower(), publisher));
  } else console.log('Flower was not measured: Python cannot import it (PYTHONPATH).\n');
  printTable(
    `A burst of ${(tasks * EVENTS).toLocaleString('en')} events over RabbitMQ`,
    ['who listens', 'published/s', 'received', 'CPU s', 'per CPU s', 'CPU s of RabbitMQ', ''],
    rows,
  );
} finally {
  for (const child of children) child.kill('SIGKILL');
  await rabbit.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
