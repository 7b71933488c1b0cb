/** Counts over time. */
import type { RollupQuery, RollupStore, RollupTotal, StoredRollup } from '../../history/store.ts';
import { assign, insertBatch, listColumns, without } from './batches.ts';
import { COUNT_COLUMNS, TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlRow, SqlValue } from './sql-database.ts';
import { fromColumn, toColumn } from './task-row.ts';

const COLUMNS = TABLES.rollup.columns;
const KEY = TABLES.rollup.key.join(', ');
const READ = listColumns(without(COLUMNS, 'source_id'));
const COUNTS = listColumns(COUNT_COLUMNS);
const SUMS = COUNT_COLUMNS.map(([name]) => `sum(${name})`).join(', ');
const PEAKS = COUNT_COLUMNS.map(([name]) => `max(${name})`).join(', ');
const HALF_MINUTE_MS = 30_000;
/** Where the counts begin in a row that is read. */
const FIRST_COUNT = 8;

/** Rows of one transaction. */
const BATCH = 1_000;

export function createRollupStore(source: SourceDatabase): RollupStore {
  const table = source.names.rollup;
  const replaced = assign(without(COLUMNS, ...TABLES.rollup.key), 'excluded.');
  const upserted = insertBatch(
    table,
    COLUMNS,
    `ON CONFLICT (${KEY}) DO UPDATE SET ${replaced} WHERE stored.weight <= excluded.weight`,
  );
  const sums = COUNT_COLUMNS.map(([name]) => `${name} = stored.${name} + excluded.${name}`).join(', ');
  const added = insertBatch(
    table,
    COLUMNS,
    `ON CONFLICT (${KEY}) DO UPDATE SET weight = excluded.weight, ${sums},
       times = CASE WHEN excluded.times IS NULL THEN stored.times ELSE coalesce(stored.times, '') || excluded.times END
     WHERE stored.weight < excluded.weight`,
  );
  return {
    async add(cells) {
      await source.batch(added, cells.map(rowOf));
    },
    async write(cells) {
      await source.batch(upserted, cells.map(rowOf));
    },
    async read(query, most) {
      const { where, values } = filtersOf(source, query);
      const text = `SELECT ${READ} FROM ${table} WHERE ${where} ORDER BY start_at LIMIT $${values.length + 2}`;
      return (await source.read(text, ...values, most)).map(rollupOf);
    },
    async totals(query, most) {
      const { where, values } = filtersOf(source, query);
      const cells = `SELECT name, queue, worker, ${COUNTS}, times FROM ${table} WHERE ${where} ORDER BY start_at LIMIT $${values.length + 2}`;
      const text = `SELECT name, queue, worker, ${SUMS}, string_agg(times, '') FROM (${cells}) AS cells GROUP BY name, queue, worker`;
      return (await source.read(text, ...values, most)).map(totalOf);
    },
    async sums(query) {
      const { where, values } = filtersOf(source, query);
      const text = `SELECT start_at, ${SUMS} FROM ${table} WHERE ${where} GROUP BY start_at ORDER BY start_at`;
      return (await source.read(text, ...values)).map(([start, ...counts]) => ({
        start: Number(start),
        counts: counts.map(Number),
      }));
    },
    async byQueue(query, { first, ms }) {
      const { where, values } = filtersOf(source, query);
      const at = values.length + 2;
      // `floor` is missing in some versions of the engines, and they round halves differently: adding half a minute
      // avoids halves.
      const step = `round((start_at - $${at} + ${HALF_MINUTE_MS}) / $${at + 1} - 0.5)`;
      const text = `SELECT queue, ${step}, ${SUMS}, ${PEAKS} FROM ${table} WHERE ${where} GROUP BY 1, 2`;
      return (await source.read(text, ...values, first, ms)).map(([queue, index, ...counts]) => ({
        queue: fromColumn(String(queue)),
        step: Number(index),
        sums: counts.slice(0, COUNT_COLUMNS.length).map(Number),
        peaks: counts.slice(COUNT_COLUMNS.length).map(Number),
      }));
    },
    async dropBefore(span, start) {
      let dropped: number;
      do {
        const rows = await source.write(
          `DELETE FROM ${table} WHERE (${KEY}) IN
             (SELECT ${KEY} FROM ${table} WHERE source_id = $1 AND span = $2 AND start_at < $3 LIMIT ${BATCH}) RETURNING span`,
          span,
          start,
        );
        dropped = rows.length;
      } while (dropped >= BATCH);
    },
  };
}

function filtersOf(
  { database }: SourceDatabase,
  { span, level, from, to, names, queues, workers }: RollupQuery,
): { readonly where: string; readonly values: readonly SqlValue[] } {
  const conditions = ['source_id = $1', 'span = $2', 'level = $3', 'start_at >= $4', 'start_at < $5'];
  const values: SqlValue[] = [span, level, from, to];
  const wanted = { name: names, queue: queues, worker: workers };
  for (const [column, texts] of Object.entries(wanted))
    if (texts.length > 0)
      conditions.push(database.dialect.isAny(column, values.push(texts.map(toColumn)) + 1));
  return { where: conditions.join(' AND '), values };
}

function rowOf(cell: StoredRollup): SqlRow {
  const { span, level, start, name, queue, worker, writer, weight, counts, times } = cell;
  const texts = [name, queue, worker, writer].map(toColumn);
  return [span, level, start, ...texts, weight, ...COUNT_COLUMNS.map((_, at) => counts[at] ?? 0), times];
}

function rollupOf(row: SqlRow): StoredRollup {
  const [span, level, start, name, queue, worker, writer, weight] = row;
  const times = row[FIRST_COUNT + COUNT_COLUMNS.length] ?? null;
  return {
    span: Number(span) as StoredRollup['span'],
    level: Number(level) as StoredRollup['level'],
    start: Number(start),
    name: fromColumn(String(name)),
    queue: fromColumn(String(queue)),
    worker: fromColumn(String(worker)),
    writer: fromColumn(String(writer)),
    weight: Number(weight),
    counts: row.slice(FIRST_COUNT, FIRST_COUNT + COUNT_COLUMNS.length).map(Number),
    times: times === null ? null : String(times),
  };
}

function totalOf([name, queue, worker, ...rest]: SqlRow): RollupTotal {
  const times = rest[COUNT_COLUMNS.length] ?? null;
  return {
    name: fromColumn(String(name)),
    queue: fromColumn(String(queue)),
    worker: fromColumn(String(worker)),
    counts: rest.slice(0, COUNT_COLUMNS.length).map(Number),
    times: times === null ? null : String(times),
  };
}
