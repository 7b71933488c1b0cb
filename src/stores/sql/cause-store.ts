/** Causes of failures: their texts, and the failures of each, counted in the stored tasks. */
import type {
  CausePart,
  CauseStep,
  CauseStore,
  FailureQuery,
  StoredCause,
} from '../../history/rollup-store.ts';
import { runInSlices, type Steps } from '../../scheduler.ts';
import { insertBatch, readPacked } from './batches.ts';
import { TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlField, SqlRow, SqlValue } from './sql-database.ts';
import { fromColumn, toColumn } from './task-row.ts';

export function createCauseStore(source: SourceDatabase): CauseStore {
  const { cause } = source.names;
  const { dialect } = source.database;
  const noted = insertBatch(
    cause,
    TABLES.cause.columns,
    `ON CONFLICT (source_id, id) DO UPDATE SET
       first_seen = CASE WHEN excluded.first_seen < stored.first_seen THEN excluded.first_seen ELSE stored.first_seen END,
       last_seen = CASE WHEN excluded.last_seen > stored.last_seen THEN excluded.last_seen ELSE stored.last_seen END`,
  );
  return {
    async note(causes) {
      await source.batch(noted, causes.map(rowOf));
    },
    async describe(ids) {
      if (ids.length === 0) return [];
      const text = `SELECT id, exception, message, frame, first_seen, last_seen FROM ${cause} WHERE source_id = $1 AND ${dialect.isAny('id', 2)}`;
      return (await source.read(text, ids.map(toColumn))).map(causeOf);
    },
    async counts(query, most) {
      const { from, values } = failuresOf(source, query, null);
      const text = `SELECT cause, count(*) AS many ${from} GROUP BY cause ORDER BY many DESC, cause LIMIT $${values.length + 2}`;
      const rows = await source.read(text, ...values, most);
      return rows.map(([id, count]) => ({ cause: fromColumn(String(id)), count: Number(count) }));
    },
    async parts(query, causes, most) {
      const { from, values } = failuresOf(source, query, causes);
      const by = 'cause, name, worker';
      const nth = `row_number() OVER (PARTITION BY ${by} ORDER BY changed DESC, id) AS nth`;
      // Each part with its newest failure, in one walk through the tasks.
      const text = `SELECT ${by}, count(*) AS many, max(changed) AS last, max(CASE WHEN nth = 1 THEN id END) AS sample
        FROM (SELECT ${by}, changed, id, ${nth} ${from}) AS failed GROUP BY ${by} LIMIT $${values.length + 2}`;
      const columns = ['cause', 'name', 'worker', 'many', 'last', 'sample'];
      const rows = await readPacked(source, columns, text, [...values, most]);
      return runInSlices('store', mapRows(rows, partOf));
    },
    async steps(query, causes, { first, ms }) {
      const { from, values } = failuresOf(source, query, causes);
      const at = values.length + 2;
      const step = dialect.floor(`(changed - $${at}) / $${at + 1}`);
      const text = `SELECT cause, step, count(*) AS many FROM (SELECT cause, ${step} AS step ${from}) AS failed GROUP BY cause, step`;
      const rows = await readPacked(source, ['cause', 'step', 'many'], text, [...values, first, ms]);
      return runInSlices('store', mapRows(rows, stepOf));
    },
    async dropBefore(time) {
      await source.write(`DELETE FROM ${cause} WHERE source_id = $1 AND last_seen < $2`, time);
    },
  };
}

/**
 * The stored failures of a query, as the end of a statement whose first value is the number of the source.
 *
 * @param causes `null`: all
 * @returns also its other values
 */
function failuresOf(
  { database: { dialect }, names: tables }: SourceDatabase,
  { from, to, names, queues, workers }: FailureQuery,
  causes: readonly string[] | null,
): { readonly from: string; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [from, to];
  const wanted = { name: names, queue: queues, worker: workers, cause: causes ?? [] };
  const filters = Object.entries(wanted).flatMap(([column, texts]) =>
    texts.length === 0 ? [] : [dialect.isAny(column, values.push(texts.map(toColumn)) + 1)],
  );
  const failed = ['source_id = $1', "state = 'FAILURE'", "cause > ''", 'changed >= $2', 'changed < $3'];
  return { from: `FROM ${tables.task} WHERE ${[...failed, ...filters].join(' AND ')}`, values };
}

function* mapRows<Value>(rows: readonly SqlRow[], read: (row: SqlRow) => Value): Steps<Value[]> {
  const values: Value[] = [];
  for (const row of rows) {
    values.push(read(row));
    yield;
  }
  return values;
}

function partOf([cause, name, worker, count, last, sample]: SqlRow): CausePart {
  return {
    cause: fromColumn(String(cause)),
    name: textOf(name),
    worker: textOf(worker),
    count: Number(count),
    last: Number(last),
    sample: fromColumn(String(sample)),
  };
}

function stepOf([cause, step, count]: SqlRow): CauseStep {
  return { cause: fromColumn(String(cause)), step: Number(step), count: Number(count) };
}

function rowOf({ id, exception, message, frame, firstSeen, lastSeen }: StoredCause): SqlRow {
  const texts = [exception, message, frame].map((text) => (text === null ? null : toColumn(text)));
  return [toColumn(id), ...texts, firstSeen, lastSeen];
}

function causeOf([id, exception, message, frame, firstSeen, lastSeen]: SqlRow): StoredCause {
  return {
    id: fromColumn(String(id)),
    exception: textOf(exception),
    message: textOf(message),
    frame: textOf(frame),
    firstSeen: Number(firstSeen),
    lastSeen: Number(lastSeen),
  };
}

function textOf(field: SqlField | undefined): string | null {
  return field == null ? null : fromColumn(String(field));
}
