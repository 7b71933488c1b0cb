/** Causes of failures: their texts, and the number of failures of each. */
import type { CauseStore, StoredCause } from '../../history/cause-store.ts';
import { insertBatch } from './batches.ts';
import { ROWS_AT_ONCE, untilFewer } from './days.ts';
import { readParts, readSteps } from './failure-reads.ts';
import { failuresOf } from './failure-rows.ts';
import { LEVEL } from './keep-failures.ts';
import { TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlField, SqlRow } from './sql-database.ts';
import { fromColumn, toColumn } from './text-key.ts';

const { key } = TABLES.failures;

export function createCauseStore(source: SourceDatabase): CauseStore {
  const { cause, failures } = source.names;
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
      const { values, ofTasks, ofSums, failed } = failuresOf(source, query, null);
      const text = `SELECT cause, sum(many) AS failed FROM (
          SELECT cause, count(*) AS many ${ofTasks} GROUP BY cause UNION ALL
          SELECT cause, sum(${failed}) AS many ${ofSums} GROUP BY cause) AS causes
        GROUP BY cause HAVING sum(many) > 0 ORDER BY failed DESC, cause LIMIT $${values.length + 2}`;
      const rows = await source.read(text, ...values, most);
      return rows.map(([id, count]) => ({ cause: fromColumn(String(id)), count: Number(count) }));
    },
    parts: (query, causes, most) => readParts(source, query, causes, most),
    steps: (query, causes, steps) => readSteps(source, query, causes, steps),
    async dropBefore(time) {
      const row = key.join(', ');
      await untilFewer(() =>
        source.write(
          `DELETE FROM ${failures} WHERE (${row}) IN (SELECT ${row} FROM ${failures}
             WHERE source_id = $1 AND level > ${LEVEL.done} AND start_at < $2 LIMIT ${ROWS_AT_ONCE}) RETURNING level`,
          time,
        ),
      );
      await source.write(`DELETE FROM ${cause} WHERE source_id = $1 AND last_seen < $2`, time);
    },
  };
}

function rowOf({ id, exception, message, frame, firstSeen, lastSeen }: StoredCause): SqlRow {
  const texts = [exception, message, frame].map((text) => (text === null ? null : toColumn(text)));
  return [toColumn(id), ...texts, firstSeen, lastSeen];
}

function causeOf([id, exception, message, frame, firstSeen, lastSeen]: SqlRow): StoredCause {
  const textOf = (field: SqlField | undefined): string | null =>
    field == null ? null : fromColumn(String(field));
  return {
    id: fromColumn(String(id)),
    ...{ exception: textOf(exception), message: textOf(message), frame: textOf(frame) },
    ...{ firstSeen: Number(firstSeen), lastSeen: Number(lastSeen) },
  };
}
