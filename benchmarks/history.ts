/**
 * What a kept history costs: a monitor hears a steady load of events with and without a store in PostgreSQL on the same
 * machine; it starts again on what is stored; and eight instances share one that listens, which is killed twice.
 *
 * `npm run bench -- history`. `--rate 1250` tasks a second (4 events and 2 results each), `--seconds 60`,
 * `--stored 1000000` tasks in the database at the start that is measured, `--trigrams` with the extension pg_trgm,
 * `--only load`, `start` (after a load) or `replicas`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { postgresMissing, startPostgres } from '../test/helpers/postgres.ts';
import { redisMissing, startRedis, until } from '../test/helpers/redis-server.ts';
import type { ServerReport } from './history-server.ts';
import { median, printTable } from './table.ts';

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    rate: { type: 'string', default: '1250' },
    seconds: { type: 'string', default: '60' },
    stored: { type: 'string', default: '1000000' },
    trigrams: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const stored = Number(values.stored);
const missing = redisMissing ?? postgresMissing;
if (missing !== null) {
  console.log(`Kept history: left out, ${missing}.\n`);
  process.exit(0);
}
/** How late a task may be in the database, in milliseconds. */
const AIM_BEHIND_MS = 2_000;

const redis = await startRedis();
const postgres = await startPostgres({ fsync: true, settings: { shared_buffers: '256MB' } });
if (values.trigrams) await postgres.query('CREATE EXTENSION pg_trgm');
const database = postgres.url();

function run(file: string, args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(`./${file}`, import.meta.url));
  return spawn(process.execPath, ['--import', 'tsx', path, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** A monitor, and what it has reported. */
interface Monitor {
  readonly child: ChildProcess;
  readonly reports: ServerReport[];
}

async function startMonitor(...args: readonly string[]): Promise<Monitor> {
  const child = run('history-server.ts', args);
  const reports: ServerReport[] = [];
  child.on('message', (report) => reports.push(report as ServerReport));
  await until(() => reports.length > 2, 60_000);
  return { child, reports };
}

async function stop({ child }: Monitor): Promise<void> {
  const ended = once(child, 'exit');
  child.send('end');
  await ended;
}

/** What is stored, and how far it lags behind what was published, in milliseconds. */
async function storedNow(): Promise<{ readonly tasks: number; readonly behind: number }> {
  const [row] = await postgres.query<{ tasks: string; newest: number | null }>(
    'SELECT count(*) AS tasks, max(changed) AS newest FROM task_monitor_task',
  );
  return { tasks: Number(row?.tasks ?? 0), behind: Date.now() - Number(row?.newest ?? Date.now()) };
}

interface Load {
  readonly loopP99: number;
  readonly cpu: number;
  readonly rss: number;
}

/** Publishes the load, and looks at the monitor meanwhile. */
async function load(monitor: Monitor, look: () => Promise<void>): Promise<Load> {
  const before = monitor.reports.at(-1) as ServerReport;
  const publisher = run('steady-publisher.ts', [redis.url(), String(rate), String(seconds)]);
  const ended = once(publisher, 'exit');
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  // The publisher starts, and the code of the monitor is compiled.
  await sleep(4_000);
  const first = monitor.reports.length;
  while (!isOver) {
    await look();
    await sleep(250);
  }
  const meanwhile = monitor.reports.slice(first, -1);
  await sleep(3_000);
  const after = monitor.reports.at(-1) as ServerReport;
  return {
    loopP99: median(meanwhile.map(({ loopP99 }) => loopP99)),
    cpu: (after.cpu - before.cpu) / 1_000 / seconds,
    rss: after.rss,
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function measureLoad(): Promise<void> {
  const bare = await startMonitor(redis.url());
  const without = await load(bare, async () => {});
  await stop(bare);
  const kept = await startMonitor(redis.url(), database);
  const behind: number[] = [];
  const before = (await storedNow()).tasks;
  const withStore = await load(kept, async () => {
    behind.push((await storedNow()).behind);
  });
  await stop(kept);
  const published = rate * seconds;
  const { tasks } = await storedNow();
  const percent = ({ cpu }: Load): string => `${(cpu * 100).toFixed(0)} %`;
  printTable(
    `A steady load of ${(rate * 4).toLocaleString('en')} events/s for ${seconds} s${values.trigrams ? ', with pg_trgm' : ''}`,
    ['', 'without a store', 'PostgreSQL on the same machine'],
    [
      [
        'event loop, 99th percentile of a second, ms',
        without.loopP99.toFixed(1),
        withStore.loopP99.toFixed(1),
      ],
      ['CPU of the monitor', percent(without), percent(withStore)],
      ['memory (RSS), MiB', mebibytes(without.rss), mebibytes(withStore.rss)],
      ['tasks that are stored of those published', '', `${tasks - before} of about ${published}`],
      [
        'newest stored task, median and most behind, ms',
        '',
        `${median(behind).toFixed(0)}, ${Math.max(...behind).toFixed(0)}`,
      ],
      [
        'looks with more than 2 s behind',
        '',
        `${behind.filter((ms) => ms > AIM_BEHIND_MS).length} of ${behind.length}`,
      ],
    ],
  );
}

function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(0);
}

/** Copies stored tasks under other ids, with the times of the days before. */
async function fill(): Promise<void> {
  const { tasks } = await storedNow();
  const times = Math.ceil((stored - tasks) / Math.max(1, tasks));
  const columns = await postgres.query<{ name: string }>(
    "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'task_monitor_task' ORDER BY ordinal_position",
  );
  const names = columns.map(({ name }) => name).join(', ');
  const changed = columns.map(({ name }) =>
    name === 'id' || name === 'root_id' ? `${name} || '-' || copy` : name,
  );
  for (let copy = 1; copy <= times; copy++) {
    await postgres.query(
      `INSERT INTO task_monitor_task (${names}) SELECT ${changed.join(', ')} FROM task_monitor_task, (SELECT ${copy} AS copy) AS copies WHERE id NOT LIKE '%-%-%-%-%-%' LIMIT ${stored - tasks}`,
    );
  }
  await postgres.query('ANALYZE');
}

async function measureStart(): Promise<void> {
  await fill();
  const { tasks } = await storedNow();
  const monitor = await startMonitor(redis.url(), database);
  const firstAt = (monitor.reports[0] as ServerReport).sinceStart;
  const wanted = Math.min(tasks, 100_000);
  await until(() => (monitor.reports.at(-1) as ServerReport).tasks >= wanted * 0.99, 120_000);
  const full = monitor.reports.find((report) => report.tasks >= wanted * 0.99) as ServerReport;
  await stop(monitor);
  printTable(
    `A start with ${tasks.toLocaleString('en')} stored tasks`,
    ['', ''],
    [
      ['first answer, looked for each second, ms', firstAt.toFixed(0)],
      [
        `memory filled with ${full.tasks.toLocaleString('en')} tasks, s`,
        (full.sinceStart / 1_000).toFixed(1),
      ],
      [
        'event loop meanwhile, worst second, 99th percentile, ms',
        Math.max(...monitor.reports.map(({ loopP99 }) => loopP99)).toFixed(0),
      ],
      ['CPU, s', (full.cpu / 1_000).toFixed(1)],
    ],
  );
}

/** Instances, tasks a second, and times in seconds. */
const REPLICAS = { instances: 8, rate: 125, seconds: 60, killAfter: 20 };

/** Kills the instance that listens. @returns the seconds until another one does */
async function killLeader(monitors: Monitor[]): Promise<number> {
  const leads = ({ reports }: Monitor): boolean => reports.at(-1)?.leads === true;
  const leader = monitors.find(leads);
  if (leader === undefined) return Number.NaN;
  leader.child.kill('SIGKILL');
  monitors.splice(monitors.indexOf(leader), 1);
  const start = performance.now();
  await until(() => monitors.some(leads), 60_000);
  return (performance.now() - start) / 1_000;
}

async function measureReplicas(): Promise<void> {
  await postgres.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const bare = await startMonitor();
  const monitors = await Promise.all(
    Array.from({ length: REPLICAS.instances }, () => startMonitor(redis.url(), database, 'leader')),
  );
  await until(() => monitors.some(({ reports }) => reports.at(-1)?.leads === true), 60_000);
  const publisher = run('steady-publisher.ts', [
    redis.url(),
    String(REPLICAS.rate),
    String(REPLICAS.seconds),
  ]);
  const ended = once(publisher, 'exit');
  await sleep(5_000);
  const followers = monitors.filter(({ reports }) => reports.at(-1)?.leads === false);
  const before = followers.map(({ reports }) => reports.at(-1) as ServerReport);
  await sleep(REPLICAS.killAfter * 1_000);
  const shares = followers.map(({ reports }, at) => {
    const [from, to] = [before[at] as ServerReport, reports.at(-1) as ServerReport];
    return (to.cpu - from.cpu) / (to.sinceStart - from.sinceStart);
  });
  const rss = followers.map(({ reports }) => (reports.at(-1) as ServerReport).rss);
  const bareRss = (bare.reports.at(-1) as ServerReport).rss;
  const takeovers: number[] = [];
  for (let time = 0; time < 2; time++) {
    takeovers.push(await killLeader(monitors));
    await sleep(5_000);
  }
  await ended;
  await sleep(10_000);
  const { tasks } = await storedNow();
  for (const monitor of [...monitors, bare]) await stop(monitor);
  printTable(
    `${REPLICAS.instances} instances, one of which listens, ${REPLICAS.rate * 4} events/s`,
    ['', ''],
    [
      [
        'CPU of an instance that does not listen, median, most',
        shares.length === 0
          ? ''
          : `${(median(shares) * 100).toFixed(1)} %, ${(Math.max(...shares) * 100).toFixed(1)} %`,
      ],
      ['its memory above an app without a monitor, MiB', mebibytes(median(rss) - bareRss)],
      [
        'until another instance listened, s, the report of a second included',
        takeovers.map((s) => s.toFixed(1)).join(', '),
      ],
      [
        'tasks stored in the end; what happened while nobody listened is not stored by the publisher',
        `${tasks} of ${REPLICAS.rate * REPLICAS.seconds}`,
      ],
    ],
  );
}

try {
  const parts = { load: measureLoad, start: measureStart, replicas: measureReplicas };
  for (const [name, measure] of Object.entries(parts)) {
    if (values.only === undefined || values.only === name) await measure();
  }
} finally {
  await postgres.close();
  await redis.close();
}
process.exit(0);
