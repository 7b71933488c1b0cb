/**
 * How long a turn of the event loop becomes when 64 clients request data that only a store has, or that a source
 * streams: `npm run bench -- turns`, `--engine sqlite`, `--engine rows`, `--only graph,list` or `--clients 8` runs less
 * of it. Each load meets a host of its own, beside a canary route.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { otherNode, sqliteNode } from '../test/helpers/other-node.ts';
import { postgresMissing, startPostgres } from '../test/helpers/postgres.ts';
import { statusOf } from './status-of.ts';
import { printTable } from './table.ts';
import { TASKS, taskId } from './turns-fill.ts';
import type { TurnsReport } from './turns-server.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    clients: { type: 'string', default: '64' },
  },
});
const CLIENTS = Number(values.clients);
const CANARY_MS = 10;
const LIST = '/monitor/api/tasks/';

/** The loads: each request is different, so that no answer is shared. */
const LOADS: Readonly<Record<string, readonly [label: string, target: (request: number) => string]>> = {
  express: ['plain Express, which answers 4 kB', (n) => `/plain?n=${n}`],
  start: ['a start: workers, feed and tasks are loaded', () => '/canary'],
  relations: ['relations of another task of the workflow', (n) => `${LIST}${taskId(n % TASKS)}/relations/`],
  graph: ['another limit of graph', (n) => `${LIST}${taskId(0)}/graph/?limit=${5_000 + (n % 15_000)}`],
  list: ['another list of 1,000 rows of 6 kB', (n) => `${LIST}?limit=1000&since=${n}`],
  detail: ['another task', (n) => `${LIST}${taskId(n % TASKS)}/`],
  search: ['a new q', (n) => `${LIST}?q=nowhere${n}&limit=1`],
  quoted: ["a new q with a quote: q='…", (n) => `${LIST}?q='nowhere${n}&limit=1`],
  stats: [
    'statistics of an hour of tasks',
    (n) => `${LIST}?stats=120&limit=0&until=${Date.now() - (n % 1_000)}`,
  ],
  callers: [
    'the same with percentiles and callers of a name',
    (n) =>
      `${LIST}?stats=120&limit=0&stats_percentiles=true&stats_callers=true&name=shop.step_${n % 7}&until=${Date.now() - (n % 1_000)}`,
  ],
  rollups: [
    'statistics of 90 days, 10,000 names',
    (n) => `${LIST}?stats=129600&limit=0&stats_step=86400&name=shop.step_${n % 7}`,
  ],
  names: ['the same of all names', (n) => `${LIST}?stats=${129_600 - (n % 1_440)}&limit=0&stats_step=86400`],
};

/** Those of a source that streams 20,000 rows into `pageFrom`. */
const STREAMED: typeof LOADS = {
  express: ['plain Express, which answers 4 kB', (n) => `/plain?n=${n}`],
  sorted: ['another list of 50 rows, streamed in its order', (n) => `${LIST}?limit=50&since=${n}`],
  unsorted: [
    'another list of 50 rows, of which all are read',
    (n) => `${LIST}?limit=50&sort=name&since=${n}`,
  ],
  many: ['the same of 1,000 rows', (n) => `${LIST}?limit=1000&sort=name&since=${n}`],
  'search-rows': ['a new q, which nothing has', (n) => `${LIST}?q=nowhere${n}&limit=1`],
};

/** Sends requests until the time is up. @returns answers by status */
async function load(url: string, target: (request: number) => string): Promise<Record<string, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const answers: Record<string, number> = {};
  const end = performance.now() + Number(values.seconds) * 1_000;
  let sent = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const status = await statusOf(`${url}${target(sent++)}`, agent);
      if (performance.now() < end || status !== 'failed') answers[status] = (answers[status] ?? 0) + 1;
    }
  };
  const over = new Promise((resolve) => setTimeout(resolve, Number(values.seconds) * 1_000));
  await Promise.race([Promise.all(Array.from({ length: CLIENTS }, client)), over]);
  agent.destroy();
  return { ...answers };
}

/** Requests the canary route repeatedly. @returns ends it, with the longest answer in milliseconds */
function watchCanary(url: string): () => number {
  let longest = 0;
  const agent = new Agent({ keepAlive: true });
  async function ask(): Promise<void> {
    const from = performance.now();
    await statusOf(`${url}/canary`, agent);
    longest = Math.max(longest, performance.now() - from);
  }
  const timer = setInterval(() => void ask(), CANARY_MS);
  return () => {
    clearInterval(timer);
    agent.destroy();
    return longest;
  };
}

// The CPU time of one thread is known since Node 23.9, and Node 20 has no SQLite.
const node = existsSync(otherNode(24)) ? otherNode(24) : sqliteNode;
const hasThreadTime = Number(process.versions.node.split('.')[0]) >= 24 || node === otherNode(24);

function startServer(engine: string, where: string, step: 'fill' | 'serve'): ChildProcess {
  const file = fileURLToPath(new URL('./turns-server.ts', import.meta.url));
  const execArgv = ['--disable-warning=ExperimentalWarning'];
  return fork(file, [engine, where, step], { execPath: node, execArgv });
}

async function measure(engine: string, where: string, name: string): Promise<string[]> {
  const [label, target] = (LOADS[name] ?? STREAMED[name]) as (typeof LOADS)[string];
  const host = startServer(engine, where, 'serve');
  const [port] = (await once(host, 'message')) as [number];
  const url = `http://127.0.0.1:${port}`;
  let answers: Record<string, number> = {};
  let canary = Number.NaN;
  if (name !== 'start') {
    // Compiling at the first request is not part of any figure.
    const agent = new Agent();
    for (let warm = 0; warm < 3; warm++) await statusOf(`${url}${target(TASKS / 2 + warm)}`, agent);
    agent.destroy();
    host.send('start');
    const endCanary = watchCanary(url);
    answers = await load(url, target);
    canary = endCanary();
  }
  // A load that is refused as wrong measures nothing.
  if (answers['400'] !== undefined || answers['404'] !== undefined)
    throw new Error(`${target(0)} answers ${JSON.stringify(answers)}: mend the load.`);
  host.send('stop');
  const [{ longest, p999, cpu }] = (await once(host, 'message')) as [TurnsReport];
  host.kill('SIGKILL');
  const counts = Object.entries(answers).map(([status, count]) => `${count} × ${status}`);
  return [label, longest.toFixed(1), p999.toFixed(1), canary.toFixed(0), cpu.toFixed(0), counts.join(', ')];
}

const folder = mkdtempSync(join(tmpdir(), 'monitor-turns-'));
for (const engine of ['postgres', 'sqlite', 'rows']) {
  if (values.engine !== undefined && values.engine !== engine) continue;
  if (engine === 'postgres' && postgresMissing !== null) {
    console.log(`${engine}: ${postgresMissing}\n`);
    continue;
  }
  const postgres =
    engine === 'postgres' ? await startPostgres({ settings: { shared_buffers: '256MB' } }) : null;
  const where = postgres?.url() ?? join(folder, 'monitor.db');
  try {
    if (engine !== 'rows') await once(startServer(engine, where, 'fill'), 'exit');
    const rows: string[][] = [];
    const loads = Object.keys(engine === 'rows' ? STREAMED : LOADS);
    const wanted = values.only?.split(',') ?? loads;
    for (const name of loads.filter((one) => wanted.includes(one)))
      rows.push(await measure(engine, where, name));
    const unit = hasThreadTime ? 'CPU time of the main thread' : 'CPU time of the process';
    printTable(
      `Turns of the event loop, ${engine}, ${CLIENTS} clients, ms of ${unit}`,
      ['each request', 'longest', 'p99.9', 'canary, longest, by the clock', 'in all', 'answers'],
      rows,
    );
  } finally {
    await postgres?.close();
  }
}
rmSync(folder, { recursive: true });
process.exit(0);
