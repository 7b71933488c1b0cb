/** Sums of failures by cause, which stay when the tasks of a day are dropped. */
import { listColumns } from './batches.ts';
import type { TableNames } from './names.ts';
import { DAY_HOURS, HOUR_COLUMNS, TABLES } from './schema.ts';
import type { SqlDatabase } from './sql-database.ts';

/** Number of causes of dropped tasks that are kept separately. */
const MOST_CAUSES = 1_000;
/** Number of sums of dropped tasks, by name, queue and worker, that are kept separately. */
const MOST_PARTS = 5_000;
/** Names, and workers, of a cause and a day that are kept. */
const MOST_LISTED = 20;
export const HOUR_MS = 3_600_000;
export const DAY_MS = DAY_HOURS * HOUR_MS;

/** Kinds of rows. */
export const LEVEL = {
  /** The row shows that the failures of the days up to its own are sums. */
  done: 0,
  /** The failures of a cause, with its most frequent names and workers. */
  cause: 1,
  /** Those of a name, queue and worker. */
  part: 2,
} as const;

const { columns, key } = TABLES.failures;

/** The first day whose failures are counted in the tasks themselves. `$1` is the number of the source. */
export function firstCountedDay({ failures }: Pick<TableNames, 'failures'>): string {
  return `(SELECT coalesce(max(day), -1) + 1 FROM ${failures} WHERE source_id = $1 AND level = ${LEVEL.done})`;
}

/**
 * Sums up the failures of a source's tasks of the days before this one by day, as far as they are not yet. One
 * statement writes the sums and marks them as valid from now on: no failure counts twice, and none is lost.
 */
export async function keepFailures(
  database: SqlDatabase,
  names: TableNames,
  source: number,
  before: number,
): Promise<void> {
  const isDue = `SELECT CASE WHEN ${firstCountedDay(names)} < $2 THEN 1 ELSE 0 END`;
  const [row] = await database.read(isDue, [source, before]);
  if (Number(row?.[0]) === 1) await database.write(statement(database, names), [source, before]);
}

function statement({ dialect }: SqlDatabase, names: TableNames): string {
  const at = `day, start_at, cause`;
  const hours = HOUR_COLUMNS.map(([name]) => name);
  const dayOf = `${dialect.floor(`changed / ${DAY_MS}`)} * ${DAY_MS}`;
  const isKept = `cause IN (SELECT cause FROM frequent)`;
  const counts = hours.map(
    (name, hour) => `nullif(sum(CASE WHEN hour = ${hour} THEN 1 ELSE 0 END), 0) AS ${name}`,
  );
  const isPart = `nth <= ${MOST_PARTS} AND cause > ''`;
  const part = (column: string): string => `CASE WHEN ${isPart} THEN ${column} ELSE '' END`;
  const listed = (column: string): string => `SELECT ${at}, ${dialect.pairs(column, 'many')} AS list FROM (
      SELECT ${at}, ${column}, count(*) AS many,
        row_number() OVER (PARTITION BY ${at} ORDER BY count(*) DESC, ${column}) AS nth
      FROM failed WHERE ${column} > '' AND cause > '' GROUP BY ${at}, ${column}) AS counted
    WHERE nth <= ${MOST_LISTED} GROUP BY ${at}`;
  return `WITH dropped AS (SELECT day, cause, coalesce(name, '') AS name, coalesce(queue, '') AS queue,
      coalesce(worker, '') AS worker, changed, ${dayOf} AS start_at
      FROM ${names.task} WHERE source_id = $1 AND state = 'FAILURE' AND cause > '' AND changed >= 0
        AND day < $2 AND day >= ${firstCountedDay(names)}),
    frequent AS (SELECT cause FROM dropped GROUP BY cause ORDER BY count(*) DESC, cause LIMIT ${MOST_CAUSES}),
    failed AS (SELECT ${['day', 'start_at', 'name', 'queue', 'worker', 'changed'].join(', ')},
      CASE WHEN ${isKept} THEN cause ELSE '' END AS cause,
      ${dialect.floor(`(changed - start_at) / ${HOUR_MS}`)} AS hour FROM dropped),
    of_names AS (${listed('name')}), of_workers AS (${listed('worker')}),
    of_causes AS (SELECT ${at}, count(*) AS failed, max(changed) AS last_at, ${counts.join(', ')} FROM failed GROUP BY ${at}),
    of_parts AS (SELECT ${at}, name, queue, worker, count(*) AS failed, max(changed) AS last_at, ${counts.join(', ')},
      row_number() OVER (ORDER BY count(*) DESC, ${at}, name, queue, worker) AS nth
      FROM failed GROUP BY ${at}, name, queue, worker)
    INSERT INTO ${names.failures} (${listColumns(columns)})
    SELECT CAST($1 AS integer), ${LEVEL.cause}, start_at, cause, '', '', '', day, failed, last_at, ${hours.join(', ')},
      of_names.list, of_workers.list
      FROM of_causes LEFT JOIN of_names USING (${at}) LEFT JOIN of_workers USING (${at})
    UNION ALL SELECT CAST($1 AS integer), ${LEVEL.part}, start_at, ${['cause', 'name', 'queue', 'worker'].map(part).join(', ')},
      day, sum(failed), max(last_at), ${hours.map((name) => `sum(${name})`).join(', ')}, NULL, NULL
      FROM of_parts GROUP BY 3, 4, 5, 6, 7, 8
    UNION ALL SELECT CAST($1 AS integer), ${LEVEL.done}, 0, '', '', '', '', CAST($2 AS integer) - 1, 0, 0,
      ${hours.map(() => 'NULL').join(', ')}, NULL, NULL WHERE true
    ON CONFLICT (${key.join(', ')}) DO NOTHING`;
}
