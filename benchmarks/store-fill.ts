/**
 * The data of the benchmark `store`: tasks of eight days, of which the first million is written through the store and
 * the others are copied inside the database, and rollups of thirty days.
 */
import { createHash } from 'node:crypto';
import type { RollupLevel, RollupSpan, StoredRollup } from '../src/history/rollup-store.ts';
import type { StoredTask, StoreSession } from '../src/history/store.ts';
import { writeTimes } from '../src/history/stored/rollups/rollup-cells.ts';
import { listColumns } from '../src/stores/sql/batches.ts';
import { TABLES } from '../src/stores/sql/schema.ts';

export const DAY_MS = 86_400_000;
export const DAYS = 8;
export const TODAY: number = Math.floor(Date.now() / DAY_MS);
export const FIRST: number = (TODAY - DAYS + 1) * DAY_MS;
export const CHART_DAYS = 30;
/** Most tasks that are written through the store. */
const MOST_WRITTEN = 1_000_000;
/** Tasks or cells of one call of the store. */
const BATCH = 1_000;
/** Tasks that are written a second time. */
const REWRITTEN = 50_000;
const HOUR_MS = 3_600_000;

/** A database beside the store. */
export interface RawDatabase {
  /** Names of the tables. */
  readonly prefix: string;
  run(statement: string): Promise<void>;
  /** Does work while the table of tasks has its key alone, and builds the other indexes again. */
  withoutIndexes(work: () => Promise<void>): Promise<void>;
}

/** The tasks of a run. */
export interface Tasks {
  readonly count: number;
  /** Those that are written through the store; a multiple of them is `count`. */
  readonly written: number;
}

/** How the data was created. Rates are tasks a second. */
export interface FillFigures {
  readonly written: number;
  readonly copied: number;
  readonly cells: number;
  readonly firstWrites: number;
  readonly secondWrites: number;
  readonly copies: number;
  readonly bytesPerTask: number;
}

/** @throws RangeError when the million does not divide the number of tasks */
export function tasksOf(count: number): Tasks {
  const written = Math.min(count, MOST_WRITTEN);
  if (count % written !== 0) throw new RangeError(`--tasks must be a multiple of ${MOST_WRITTEN}.`);
  return { count, written };
}

/** The id of a task, or of a copy: an id of which the first characters stand at the end is as random. */
export function idOf(at: number, copy = 0): string {
  const id = createHash('md5').update(String(at)).digest('hex');
  return id.slice(copy) + id.slice(0, copy);
}

/** Workflows of ten tasks, one failure in a hundred, 50 names, 20 workers, 5 queues, independent of each other. */
function taskAt(at: number, version: number, written: number): StoredTask {
  const mixed = Math.imul(at, 2_654_435_761) >>> 6;
  const timestamp = FIRST + Math.floor((at * DAYS * DAY_MS) / written);
  const root = at - (at % 10);
  const name = `app.tasks.name_${at % 50}`;
  const worker = `celery@worker-${Math.floor(mixed / 100) % 20}`;
  const args = `[${at}, "${'x'.repeat(60)}"]`;
  const isFailure = mixed % 100 === 0;
  const entries = [3, 4, 5].map((kind) => [kind, timestamp, 0, worker, 0]);
  return {
    ...{ id: idOf(at), day: Math.floor(timestamp / DAY_MS), version, isOpen: at % 5_000 === 0 },
    ...{ record: JSON.stringify({ name, args, kwargs: '{}', result: 'true', entries }), texts: null },
    ...{ state: isFailure ? 'FAILURE' : 'SUCCESS', name, worker },
    cause: isFailure ? `cause-${Math.floor(mixed / 2_000) % 500}` : null,
    ...{ queue: `queue-${at % 5}`, rootId: idOf(root), parentId: at === root ? null : idOf(root) },
    ...{ groupId: at % 10 > 5 ? idOf(-root) : null, chordId: null, timestamp, received: timestamp - 3_000 },
    ...{ started: timestamp - 2_000, finished: timestamp, runtime: (at % 997) / 100 },
  };
}

export async function fill(session: StoreSession, raw: RawDatabase, tasks: Tasks): Promise<FillFigures> {
  const { count, written } = tasks;
  const firstWrites = await writeAll(session, 1, written, written);
  const bytesPerTask = (await session.size()) / written;
  const copies = await copyTasks(raw, tasks);
  const secondWrites = await writeAll(session, 2, Math.min(written, REWRITTEN), written);
  const cells = await fillRollups(session, raw);
  return { written, copied: count - written, cells, firstWrites, secondWrites, copies, bytesPerTask };
}

/** Tasks written each second. */
async function writeAll(
  { tasks }: StoreSession,
  version: number,
  most: number,
  written: number,
): Promise<number> {
  const from = performance.now();
  for (let at = 0; at < most; at += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, most - at) }, (_, next) =>
      taskAt(at + next, version, written),
    );
    await tasks.write(batch);
  }
  const rate = (most * 1_000) / (performance.now() - from);
  console.error(`wrote ${most} tasks, ${Math.round(rate)} a second`);
  return rate;
}

/**
 * Copies every task with other ids, and with times between its own and those of the next task: the same distribution,
 * day by day and workflow by workflow. @returns tasks a second
 */
async function copyTasks(
  { prefix, run, withoutIndexes }: RawDatabase,
  { count, written }: Tasks,
): Promise<number> {
  const copies = count / written - 1;
  if (copies === 0) return Number.NaN;
  const table = `${prefix}task`;
  const shift = `copies.k * ${(DAYS * DAY_MS) / count}`;
  const rotated = (column: string): string =>
    `substr(${column}, copies.k + 1) || substr(${column}, 1, copies.k)`;
  const changed: Readonly<Record<string, string>> = Object.fromEntries([
    ...['id', 'root_id', 'parent_id', 'group_id'].map((column) => [column, rotated(column)]),
    ...['changed', 'received', 'started', 'finished'].map((column) => [column, `${column} + ${shift}`]),
    ['day', `CAST(round((changed + ${shift}) / ${DAY_MS} - 0.5) AS integer)`],
  ]);
  const columns = TABLES.task.columns.map(([name]) => changed[name] ?? name).join(', ');
  const rows = Array.from({ length: copies }, (_, at) => `(${at + 1})`).join(', ');
  const from = performance.now();
  await run(`CREATE TABLE ${prefix}original AS SELECT * FROM ${table}`);
  await withoutIndexes(async () => {
    for (let day = TODAY - DAYS + 1; day <= TODAY; day++) {
      await run(
        `WITH copies (k) AS (VALUES ${rows}) INSERT INTO ${table} (${listColumns(TABLES.task.columns)})
         SELECT ${columns} FROM ${prefix}original CROSS JOIN copies WHERE day = ${day}`,
      );
      console.error(`copied a day, ${Math.round((performance.now() - from) / 1_000)} s`);
    }
  });
  await run(`DROP TABLE ${prefix}original`);
  return ((count - written) * 1_000) / (performance.now() - from);
}

/**
 * Rollups of 50 names in 5 queues on 20 workers: days and hours of thirty days, minutes of two. One span of each length
 * is written through the store and copied inside the database. @returns how many cells there are
 */
async function fillRollups({ rollups }: StoreSession, { prefix, run }: RawDatabase): Promise<number> {
  const table = `${prefix}rollup`;
  const columns = TABLES.rollup.columns;
  const shifted = listColumns(columns).replace('start_at', 'start_at - k * span * 1000.0');
  const now = Date.now();
  let count = 0;
  const spans = [
    { span: 86_400, last: TODAY - 1, steps: CHART_DAYS + 1, share: 1 },
    { span: 3_600, last: Math.floor(now / HOUR_MS) - 1, steps: CHART_DAYS * 24 + 24, share: 1 },
    { span: 60, last: Math.floor(now / 60_000), steps: 2 * 1_440, share: 0.1 },
  ] as const;
  for (const { span, last, steps, share } of spans) {
    const cells = cellsOf(span, last * span * 1_000, share);
    for (let at = 0; at < cells.length; at += BATCH) await rollups.write(cells.slice(at, at + BATCH));
    await run(
      `WITH RECURSIVE steps (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM steps WHERE k < ${steps - 1})
       INSERT INTO ${table} (${listColumns(columns)}) SELECT ${shifted} FROM ${table} CROSS JOIN steps WHERE span = ${span}`,
    );
    count += cells.length * steps;
  }
  return count;
}

/** The cells of one span of time. @param share of the 1,000 combinations of names, queues and workers */
function cellsOf(span: RollupSpan, start: number, share: number): StoredRollup[] {
  const tasks = span / 60;
  const cell = (level: RollupLevel, given: Partial<StoredRollup>): StoredRollup => ({
    ...{ span, start, level, writer: '', name: '', queue: '', worker: '', weight: tasks },
    ...{ counts: [tasks, tasks, tasks, tasks, 0, 0, 0, 0, 60], times: null },
    ...given,
  });
  const times = writeTimes(
    Array.from({ length: 112 }, (_, bucket) => (bucket % 56 > 17 && bucket % 56 < 30 ? tasks : 0)),
  );
  const names = Array.from({ length: 50 }, (_, at) => ({
    name: `app.tasks.name_${at}`,
    queue: `queue-${at % 5}`,
  }));
  const workers = Array.from({ length: 20 }, (_, at) => `celery@worker-${at}`);
  const combinations = names.flatMap((one) => workers.map((worker) => ({ ...one, worker, times })));
  const queues = names.slice(0, 5).map(({ queue }) => queue);
  return [
    cell(0, {}),
    ...names.map(({ name }) => cell(1, { name, times })),
    ...queues.map((queue) => cell(2, { queue })),
    ...workers.map((worker) => cell(3, { worker })),
    ...combinations.filter((_, at) => at % (1 / share) === 0).map((one) => cell(4, one)),
    ...queues.map((queue) => cell(5, { queue })),
  ];
}
