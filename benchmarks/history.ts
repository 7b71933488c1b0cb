/**
 * The cost of a kept history: a monitor receives a steady load of events with and without a store in PostgreSQL on the
 * same machine; then it starts again on the stored tasks, with as many tasks in memory as by default, and with all of
 * them.
 *
 * `npm run bench -- history`. `--rate 1250` tasks a second (4 events and 2 results each), `--seconds 60`,
 * `--stored 1000000` tasks in the database at the start that is measured, `--trigrams` with the extension pg_trgm,
 * `--kept` without the run without a store.
 */
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { until } from '../test/helpers/redis-server.ts';
import {
  countStored,
  lagOf,
  type Monitor,
  mebibytes,
  run,
  sleep,
  startMonitor,
  startServers,
  stop,
} from './history-kit.ts';
import type { ServerReport } from './history-server.ts';
import { median, printTable } from './table.ts';

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    rate: { type: 'string', default: '1250' },
    seconds: { type: 'string', default: '60' },
    stored: { type: 'string', default: '1000000' },
    trigrams: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: false },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const stored = Number(values.stored);
/** How late a task may be in the database, in milliseconds. */
const AIM_BEHIND_MS = 2_000;
/** Tasks that are kept in memory by default. */
const MEMORY = 100_000;

const servers = await startServers('Kept history');
const { redis, postgres } = servers;
if (values.trigrams) await postgres.query('CREATE EXTENSION pg_trgm');
const database = postgres.url();

interface Load {
  readonly loopP99: number;
  readonly cpu: number;
  readonly rss: number;
  /** Tasks. */
  readonly published: number;
}

/** Publishes the load, and observes the monitor meanwhile. */
async function load(monitor: Monitor, look: () => Promise<void>): Promise<Load> {
  const before = monitor.reports.at(-1) as ServerReport;
  const publisher = run('steady-publisher.ts', [redis.url(), String(rate), String(seconds)]);
  const ended = once(publisher, 'exit');
  let published = 0;
  publisher.on('message', (count) => {
    published = Number(count);
  });
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
    published,
  };
}

async function loadBare(): Promise<Load> {
  const bare = await startMonitor(redis.url());
  const without = await load(bare, async () => {});
  await stop(bare);
  return without;
}

async function measureLoad(): Promise<void> {
  const without = values.kept ? null : await loadBare();
  const kept = await startMonitor(redis.url(), database);
  const behind: number[] = [];
  const before = await countStored(postgres);
  const withStore = await load(kept, async () => {
    behind.push(await lagOf(postgres));
  });
  await stop(kept);
  const tasks = await countStored(postgres);
  const percent = ({ cpu }: Load): string => `${(cpu * 100).toFixed(0)} %`;
  printTable(
    `A steady load of ${(rate * 4).toLocaleString('en')} events/s for ${seconds} s${values.trigrams ? ', with pg_trgm' : ''}`,
    ['', 'without a store', 'PostgreSQL on the same machine'],
    [
      [
        'event loop, 99th percentile of a second, ms',
        without?.loopP99.toFixed(1) ?? '',
        withStore.loopP99.toFixed(1),
      ],
      ['CPU of the monitor', without === null ? '' : percent(without), percent(withStore)],
      ['memory (RSS), MiB', without === null ? '' : mebibytes(without.rss), mebibytes(withStore.rss)],
      ['tasks that are stored of those published', '', `${tasks - before} of ${withStore.published}`],
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

/** Copies stored tasks under other ids, with the times of the days before. */
async function fill(): Promise<void> {
  const tasks = await countStored(postgres);
  const times = Math.ceil((stored - tasks) / Math.max(1, tasks));
  const columns = await postgres.query<{ name: string }>(
    "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'task_monitor_task' ORDER BY ordinal_position",
  );
  const names = columns.map(({ name }) => name).join(', ');
  const changed = columns.map(({ name }) => {
    if (name === 'id' || name === 'root_id') return `${name} || '-' || copy`;
    // Otherwise each loaded task differs from the stored one, and is written again.
    return name === 'record' ? "replace(record, root_id, root_id || '-' || copy)" : name;
  });
  for (let copy = 1; copy <= times; copy++) {
    await postgres.query(
      `INSERT INTO task_monitor_task (${names}) SELECT ${changed.join(', ')} FROM task_monitor_task, (SELECT ${copy} AS copy) AS copies WHERE id NOT LIKE '%-%-%-%-%-%' LIMIT ${stored - tasks}`,
    );
  }
  await postgres.query('ANALYZE');
}

/** @param memory most tasks in memory */
async function measureStart(memory: number): Promise<void> {
  const tasks = await countStored(postgres);
  const monitor = await startMonitor(redis.url(), database, String(memory));
  const firstAt = (monitor.reports[0] as ServerReport).sinceStart;
  const wanted = Math.min(tasks, memory);
  await until(() => (monitor.reports.at(-1) as ServerReport).tasks >= wanted * 0.99, 600_000);
  const full = monitor.reports.find((report) => report.tasks >= wanted * 0.99) as ServerReport;
  await stop(monitor);
  printTable(
    `A start with ${tasks.toLocaleString('en')} stored tasks, ${memory.toLocaleString('en')} in memory at most`,
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
      ['memory (RSS), MiB', mebibytes(full.rss)],
      ['processes that want a core, in the last minute', (loadavg()[0] ?? 0).toFixed(1)],
    ],
  );
}

try {
  await measureLoad();
  await fill();
  for (const memory of new Set([MEMORY, stored])) await measureStart(memory);
} finally {
  await servers.close();
}
process.exit(0);
