/** Failures of some causes: by name and worker, and by step. */
import type { CausePart, CauseStep, FailureQuery } from '../../history/cause-store.ts';
import type { RollupSteps } from '../../history/rollup-store.ts';
import { runInSlices } from '../../scheduler/in-slices.ts';
import type { Steps } from '../../scheduler.ts';
import { type FailureRows, failuresOf } from './failure-rows.ts';
import { DAY_MS, HOUR_MS } from './keep-failures.ts';
import { readPacked } from './packed-rows.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlField, SqlRow } from './sql-database.ts';
import { fromColumn } from './text-key.ts';

const BY = 'cause, name, worker';
const PART = ['cause', 'name', 'worker', 'many', 'last'];
const LISTED = ['cause', 'names', 'workers', 'many', 'last'];

export async function readParts(
  source: SourceDatabase,
  query: FailureQuery,
  causes: readonly string[],
  most: number,
): Promise<readonly CausePart[]> {
  const rows = failuresOf(source, query, causes);
  const { ofSums, failed, last } = rows;
  const limit = `LIMIT $${rows.values.length + 2}`;
  const read = (columns: readonly string[], text: string): Promise<readonly SqlRow[]> =>
    readPacked(source, columns, `${text} ${limit}`, [...rows.values, most]);
  const isFiltered = [query.names, query.queues, query.workers].some((texts) => texts.length > 0);
  const sums = `AND ${failed} > 0`;
  const [ofNow, ofOld] = await Promise.all([
    read([...PART, 'sample'], partsOfTasks(rows)),
    isFiltered
      ? read(
          PART,
          `SELECT ${BY}, sum(${failed}) AS many, max(${last}) AS last ${ofSums} ${sums} GROUP BY ${BY}`,
        )
      : read(LISTED, `SELECT cause, names, workers, ${failed} AS many, ${last} AS last ${ofSums} ${sums}`),
  ]);
  const parts = await runInSlices('store', mapRows(ofNow, partOf));
  const old = isFiltered ? mapRows(ofOld, partOf) : listedParts(ofOld);
  return parts.concat(await runInSlices('store', old));
}

export async function readSteps(
  source: SourceDatabase,
  query: FailureQuery,
  causes: readonly string[],
  { first, ms }: RollupSteps,
): Promise<readonly CauseStep[]> {
  const { values, ofTasks, ofSums, failedBy } = failuresOf(source, query, causes);
  const { dialect } = source.database;
  const at = values.length + 2;
  // If the steps divide the day, the database adds up their hours.
  const dayMs = Math.min(ms, DAY_MS);
  const hours = DAY_MS % dayMs === 0 && dayMs % HOUR_MS === 0 && first % dayMs === 0 ? dayMs / HOUR_MS : 1;
  const step = dialect.floor(`(changed - $${at}) / $${at + 1}`);
  const sums = failedBy(hours).map((sum, index) => `sum(${sum}) AS part_${index}`);
  const parts = sums.map((_, index) => `part_${index}`);
  const [ofNow, ofOld] = await Promise.all([
    readPacked(
      source,
      ['cause', 'step', 'many'],
      `SELECT cause, step, count(*) AS many FROM (SELECT cause, ${step} AS step ${ofTasks}) AS failed GROUP BY cause, step`,
      [...values, first, ms],
    ),
    readPacked(
      source,
      ['cause', 'start_at', ...parts],
      `SELECT cause, start_at, ${sums.join(', ')} ${ofSums} GROUP BY cause, start_at`,
      values,
    ),
  ]);
  const steps = await runInSlices('store', mapRows(ofNow, stepOf));
  return steps.concat(await runInSlices('store', oldSteps(ofOld, hours, { first, ms })));
}

function* mapRows<Value>(rows: readonly SqlRow[], read: (row: SqlRow) => Value): Steps<Value[]> {
  const values: Value[] = [];
  for (const row of rows) {
    values.push(read(row));
    yield;
  }
  return values;
}

/** Each part with its newest failure, in one walk through the tasks. */
function partsOfTasks({ ofTasks }: FailureRows): string {
  const nth = `row_number() OVER (PARTITION BY ${BY} ORDER BY changed DESC, id) AS nth`;
  return `SELECT ${BY}, count(*) AS many, max(changed) AS last, max(CASE WHEN nth = 1 THEN id END) AS sample
    FROM (SELECT ${BY}, changed, id, ${nth} ${ofTasks}) AS failed GROUP BY ${BY}`;
}

function* oldSteps(rows: readonly SqlRow[], hours: number, { first, ms }: RollupSteps): Steps<CauseStep[]> {
  const steps: CauseStep[] = [];
  for (const [cause, start, ...counts] of rows) {
    for (const [at, count] of counts.entries()) {
      if (Number(count) === 0) continue;
      const time = Number(start) + at * hours * HOUR_MS;
      const step = Math.floor((time - first) / ms);
      steps.push({ cause: fromColumn(String(cause)), step, count: Number(count) });
    }
    yield;
  }
  return steps;
}

/** The kept sums of a cause. */
interface Listed {
  count: number;
  last: number;
  readonly names: Map<string, number>;
  readonly workers: Map<string, number>;
}

/** Adds up the kept sums of names and workers of each day. */
function* listedParts(rows: readonly SqlRow[]): Steps<CausePart[]> {
  const causes = new Map<string, Listed>();
  for (const [id, names, workers, count, last] of rows) {
    const cause = String(id);
    const listed = causes.get(cause) ?? { count: 0, last: 0, names: new Map(), workers: new Map() };
    causes.set(cause, listed);
    listed.count += Number(count);
    listed.last = Math.max(listed.last, Number(last));
    addPairs(listed.names, names);
    addPairs(listed.workers, workers);
    yield;
  }
  const parts: CausePart[] = [];
  for (const [id, { count, last, names, workers }] of causes) {
    const known = { cause: fromColumn(id), name: null, worker: null, last, sample: null };
    parts.push({ ...known, count });
    for (const [text, many] of names) parts.push({ ...known, name: fromColumn(text), count: many });
    for (const [text, many] of workers) parts.push({ ...known, worker: fromColumn(text), count: many });
    yield;
  }
  return parts;
}

/** Adds counts of texts, which are JSON. */
function addPairs(sums: Map<string, number>, list: SqlField | undefined): void {
  for (const [text, count] of pairsIn(list))
    sums.set(String(text), (sums.get(String(text)) ?? 0) + Number(count));
}

function pairsIn(list: SqlField | undefined): readonly (readonly unknown[])[] {
  try {
    const pairs: unknown = JSON.parse(String(list ?? '[]'));
    return Array.isArray(pairs) ? pairs.filter(Array.isArray) : [];
  } catch {
    return [];
  }
}

function partOf([cause, name, worker, count, last, sample]: SqlRow): CausePart {
  // Sums have '' where a task has no name.
  const textOf = (field: SqlField | undefined): string | null =>
    field == null || field === '' ? null : fromColumn(String(field));
  return {
    cause: fromColumn(String(cause)),
    ...{ name: textOf(name), worker: textOf(worker) },
    ...{ count: Number(count), last: Number(last), sample: textOf(sample) },
  };
}

function stepOf([cause, step, count]: SqlRow): CauseStep {
  return { cause: fromColumn(String(cause)), step: Number(step), count: Number(count) };
}
