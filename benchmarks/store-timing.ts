/** The reads of the benchmark `store`, and their delay while a day is dropped. */

import type { StoredQuery, StoreSession } from '../src/history/store.ts';
import { statsOfRollups } from '../src/history/stored/rollups/rollup-stats.ts';
import { CONTEXT, query } from '../test/history/telling.ts';
import { storedQuery, taskOf } from '../test/stores/samples.ts';
import { causeReads } from './store-causes.ts';
import { CHART_DAYS, DAY_MS, DAYS, FIRST, idOf, type Tasks, TODAY } from './store-fill.ts';

const ROUNDS = 100;
/** Slow reads are repeated less often: for this many milliseconds, and at least five times. */
const LONGEST_MS = 5_000;
const FEWEST = 5;
/** Tasks of a usual batch of the write-behind. */
const WRITTEN = 250;

/** Times in milliseconds. */
export interface ReadFigures {
  readonly name: string;
  readonly p50: number;
  readonly p95: number;
  readonly most: number;
}

/** The duration of dropping a day, and the longest calls meanwhile, in milliseconds. */
export interface DropFigures {
  readonly tasks: number;
  readonly all: number;
  readonly read: number;
  readonly write: number;
}

const some = (below: number): number => Math.floor(Math.random() * below);

/** Pages after a random position, by each filter. */
function pages(
  { tasks }: StoreSession,
  { count, written }: Tasks,
): Readonly<Record<string, () => Promise<unknown>>> {
  const copy = (): number => some(count / written);
  const page = (filters: () => Partial<StoredQuery>) => () =>
    tasks.list({
      ...storedQuery(),
      after: { key: FIRST + some(DAYS * DAY_MS), id: idOf(some(written)) },
      ...filters(),
    });
  const whole = (filters: () => Partial<StoredQuery>) => page(() => ({ after: null, ...filters() }));
  const root = (): string => idOf(some(written / 10) * 10, copy());
  const name = (): string[] => [`app.tasks.name_${some(50)}`];
  const worker = (): string[] => [`celery@worker-${some(20)}`];
  return {
    'one task': () => tasks.read([idOf(some(written), copy())]),
    'page of 100': page(() => ({})),
    'by state, common': page(() => ({ states: ['SUCCESS'] })),
    'by state, rare': page(() => ({ states: ['FAILURE'] })),
    'by name': page(() => ({ names: name() })),
    'by worker': page(() => ({ workers: worker() })),
    'by queue': page(() => ({ queues: [`queue-${some(5)}`] })),
    'by name and common state': page(() => ({ names: name(), states: ['SUCCESS'] })),
    'by name and rare state': page(() => ({ names: name(), states: ['FAILURE'] })),
    'by name and worker': page(() => ({ names: name(), workers: worker() })),
    'by root': whole(() => ({ rootId: root() })),
    'by parent': whole(() => ({ parentId: root() })),
    'by group': whole(() => ({ groupId: idOf(-some(written / 10) * 10, copy()) })),
    'by run time': whole(() => ({ sort: 'runtime' })),
    'by time of start': whole(() => ({ sort: 'started', order: 'asc' })),
    'by name, sorted': whole(() => ({ sort: 'name' })),
    'by state, sorted': whole(() => ({ sort: 'state' })),
    'count up to 10,000': () => tasks.count(storedQuery(), 10_000),
  };
}

/** Charts of thirty days. */
function charts({ rollups }: StoreSession): Readonly<Record<string, () => Promise<unknown>>> {
  const chart = (filter: Parameters<typeof query>[0]) => () => {
    const now = Date.now();
    const asked = {
      minutes: CHART_DAYS * 1_440,
      now: new Date(now),
      stepSeconds: null,
      filter: query(filter),
    };
    return statsOfRollups(rollups, asked, now, CONTEXT);
  };
  return {
    'chart of 30 days': chart({}),
    'chart by name': chart({ names: ['app.tasks.name_7'] }),
    'chart by queue': chart({ queues: ['queue-2'] }),
    'chart by worker': chart({ workers: ['celery@worker-7'] }),
  };
}

export async function timeReads(session: StoreSession, tasks: Tasks): Promise<ReadFigures[]> {
  const figures: ReadFigures[] = [];
  for (const [name, work] of Object.entries({
    ...pages(session, tasks),
    ...charts(session),
    ...causeReads(session),
  })) {
    const times: number[] = [];
    const until = performance.now() + LONGEST_MS;
    while (times.length < FEWEST || (times.length < ROUNDS && performance.now() < until))
      times.push(await timeOf(work));
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
    figures.push({ name, p50: at(0.5), p95: at(0.95), most: times.at(-1) ?? Number.NaN });
  }
  return figures;
}

/** Drops the oldest day while others read and write. */
export async function timeDrop(session: StoreSession, all: Tasks): Promise<DropFigures> {
  const { tasks } = session;
  const reads = Object.entries(pages(session, all)).filter(([name]) =>
    ['one task', 'by name'].includes(name),
  );
  let isDropping = true;
  let count = 0;
  const longest = async (works: readonly (() => Promise<unknown>)[]): Promise<number> => {
    let most = 0;
    while (isDropping) for (const work of works) most = Math.max(most, await timeOf(work));
    return most;
  };
  const write = (): Promise<unknown> =>
    tasks.write(
      Array.from({ length: WRITTEN }, () => taskOf(`meanwhile-${++count}`, { timestamp: Date.now() })),
    );
  const drop = async (): Promise<number> => {
    const ms = await timeOf(() => tasks.dropBefore(TODAY - DAYS + 2, TODAY));
    isDropping = false;
    return ms;
  };
  const [ms, read, written] = await Promise.all([
    drop(),
    longest(reads.map(([, work]) => work)),
    longest([write]),
  ]);
  return { tasks: all.count / DAYS, all: ms, read, write: written };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
