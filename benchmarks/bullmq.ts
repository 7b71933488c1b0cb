/**
 * The first page of 100 jobs of a queue with 100,000 waiting and 100,000 completed ones (or as many as the variable `JOBS`
 * says), against the same page of bull-board, which reads the same queue of the same Redis in the same process: one client
 * alone, slowly enough that no answer is shared with an earlier one, then at concurrency 20. Finally a walk over all pages
 * of another queue, sorted by name, which Redis cannot do.
 */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { fillQueues } from '../test/helpers/bullmq-fill.ts';
import { startRedis } from '../test/helpers/redis-server.ts';
import { type Load, load, startServer } from './load.ts';
import { median, printTable } from './table.ts';

const JOBS = Number(process.env.JOBS ?? 100_000);
const QUEUE = 'mail';
const SORTED_JOBS = 20_000;
const SORTED_QUEUE = 'sorted';
const ROUNDS = 3;
/** How many requests are made alone, and the time between them: an answer is shared for a second. */
const ALONE = 40;
const APART_MS = 1_100;
const RUN = { connections: 20, seconds: 5 };

const redis = await startRedis('--maxmemory-policy', 'noeviction');
const time = Date.now() - 2 * JOBS;
await fillQueues(
  redis.port,
  { queue: QUEUE, part: 'wait', count: JOBS, time },
  { queue: QUEUE, part: 'completed', first: JOBS + 1, count: JOBS, time },
  { queue: SORTED_QUEUE, part: 'completed', count: SORTED_JOBS, time },
);
const admin = new Redis(redis.port, '127.0.0.1');
const { server, url } = await startServer('bullmq-server', String(redis.port), QUEUE, SORTED_QUEUE);

async function processed(): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1]);
}

interface Measured extends Load {
  /** Redis commands per request. */
  readonly commands: number;
}

async function measure(address: string): Promise<Measured> {
  const before = await processed();
  const measured = await load(address, RUN);
  return { ...measured, commands: ((await processed()) - before - 1) / measured.requests };
}

interface Alone {
  readonly times: number[];
  readonly commands: number[];
}

/** Times of single requests to both addresses in turn, in milliseconds, and their Redis commands. */
async function alone(...addresses: readonly string[]): Promise<readonly Alone[]> {
  const results = addresses.map((): Alone => ({ times: [], commands: [] }));
  for (let round = 0; round < ALONE; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, APART_MS));
    const all = [...addresses.entries()];
    // The first request wakes Redis and the server.
    for (const [index, address] of round % 2 === 0 ? all : all.toReversed()) {
      const before = await processed();
      const start = performance.now();
      await (await fetch(address)).arrayBuffer();
      results[index]?.times.push(performance.now() - start);
      results[index]?.commands.push((await processed()) - before - 1);
    }
  }
  return results;
}

/** All pages of 1,000 of a list: how many, how long they take together, and their Redis commands. */
async function walk(query: string): Promise<{ pages: number; ms: number; commands: number }> {
  const before = await processed();
  const start = performance.now();
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages += 1) {
    const address: string = `${url}/monitor/api/tasks/?limit=1000&${query}&cursor=${cursor}`;
    const response = await fetch(cursor === '' ? address.replace('&cursor=', '') : address);
    if (!response.ok) throw new Error(`${address}: ${response.status}`);
    ({ next_cursor: cursor } = (await response.json()) as { next_cursor: string | null });
  }
  return { pages, ms: performance.now() - start, commands: (await processed()) - before - 1 };
}

const single: string[][] = [];
const pages: [label: string, ours: string, theirs: string][] = [];
const walks: string[][] = [];
const rows: string[][] = [];
async function compare(label: string, ours: string, theirs: string): Promise<void> {
  const [monitor, board]: [Measured[], Measured[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    monitor.push(await measure(ours));
    board.push(await measure(theirs));
  }
  const of = (runs: readonly Measured[], key: keyof Measured) => median(runs.map((run) => run[key]));
  const ratio = median(monitor.map(({ rate }, round) => rate / (board[round] as Measured).rate));
  const cells = (['rate', 'p99', 'commands'] as const).flatMap((key) =>
    [monitor, board].map((runs) =>
      of(runs, key).toLocaleString('en', { maximumFractionDigits: key === 'commands' ? 2 : 0 }),
    ),
  );
  rows.push([label, ...cells.slice(0, 2), ratio.toFixed(1), ...cells.slice(2)]);
}

try {
  const board = `${url}/board/api/queues?activeQueue=${QUEUE}&page=1&jobsPerPage=100`;
  for (const state of ['completed', 'waiting'] as const) {
    const query = `/api/tasks/?limit=100&queue=${QUEUE}&engine_state=${state}`;
    const { tasks } = (await (await fetch(`${url}/monitor${query}`)).json()) as { tasks: unknown[] };
    const shown = (await (await fetch(`${board}&status=${state}`)).json()) as {
      queues: { jobs: unknown[] }[];
    };
    if (tasks.length !== 100 || shown.queues[0]?.jobs.length !== 100) throw new Error('Not the same page.');
    const [ours, theirs] = [`${url}/monitor${query}`, `${board}&status=${state}`];
    // Before the load, from which only the peer would get warm: of the monitor's answers most are shared.
    const results = await alone(ours, theirs);
    single.push([
      state,
      ...results.map(({ times }) => median(times).toFixed(1)),
      ...results.map(({ commands }) => String(median(commands))),
    ]);
    pages.push([state, ours, theirs]);
  }
  for (const page of pages) await compare(...page);
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) runs.push(await walk(`queue=${SORTED_QUEUE}&sort=name`));
  walks.push([
    String(runs[0]?.pages),
    median(runs.map(({ ms }) => ms / 1_000)).toFixed(2),
    median(runs.map(({ commands }) => commands)).toLocaleString('en'),
  ]);
} finally {
  server.kill();
  admin.disconnect();
  await once(server, 'exit');
  await redis.close();
}
printTable(
  `A page of 100 of ${(2 * JOBS).toLocaleString('en')} jobs of BullMQ, 20 clients`,
  [
    '',
    'monitor, requests/s',
    'bull-board',
    'ratio',
    'monitor, p99 ms',
    'bull-board',
    'commands in Redis, a request',
    'bull-board',
  ],
  rows,
);
printTable(
  'The same page, one request alone and none shared',
  ['', 'monitor, ms', 'bull-board', 'commands in Redis', 'bull-board'],
  single,
);
printTable('All pages of 20,000 jobs, sorted by name', ['pages', 'seconds', 'commands in Redis'], walks);
