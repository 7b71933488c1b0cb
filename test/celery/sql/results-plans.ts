/** Proves that no statement that is sent again and again reads a whole table. */
import { expect } from 'vitest';
import { until } from '../../helpers/redis-server.ts';
import {
  createDjangoTables,
  createSqlalchemyTable,
  dateIn,
  storeDjango,
  watchResults,
} from './result-lab.ts';
import type { AppDatabase } from './sql-databases.ts';

/** Rows that are there before. */
const ROWS = 20_000;

/** Numbers from 1 to {@link ROWS}, as `n`. */
const NUMBERS = {
  postgres: `(SELECT generate_series(1, ${ROWS}) AS n) AS numbers`,
  mysql: `(SELECT seq AS n FROM seq_1_to_${ROWS}) AS numbers`,
  sqlite: `(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${ROWS}) SELECT n FROM c) AS numbers`,
};

/** Fills the tables with results of a day, one every four seconds. */
export async function fillResults(database: AppDatabase, writer: 'django' | 'sqlalchemy'): Promise<void> {
  const { sql, admin } = database;
  const { dialect } = sql;
  const start = Date.now() - ROWS * 4_000;
  const base = `'${dateIn(dialect, start).slice(0, 19)}'`;
  const date = {
    postgres: `${base}::timestamptz + n * interval '4 seconds'`,
    mysql: `DATE_ADD(${base}, INTERVAL n * 4 SECOND)`,
    sqlite: `datetime(${base}, (n * 4) || ' seconds')`,
  }[dialect];
  const id = { postgres: "'old-' || n", mysql: "CONCAT('old-', n)", sqlite: "'old-' || n" }[dialect];
  if (writer === 'django') {
    await createDjangoTables(database);
    const columns =
      'task_id, status, task_name, content_type, content_encoding, result, date_created, date_done, meta';
    await admin(
      `INSERT INTO django_celery_results_taskresult (${columns}) SELECT ${id}, 'SUCCESS', 'shop.add', 'application/json', 'utf-8', '3', ${date}, ${date}, '{"children": []}' FROM ${NUMBERS[dialect]}`,
    );
    await admin(
      `INSERT INTO django_celery_results_groupresult (group_id, content_type, content_encoding, result, date_created, date_done) SELECT ${id}, 'application/json', 'utf-8', '[["old", null], []]', ${date}, ${date} FROM ${NUMBERS[dialect]}`,
    );
    await admin(
      `INSERT INTO django_celery_results_chordcounter (group_id, sub_tasks, count) SELECT ${id}, '[]', 2 FROM ${NUMBERS[dialect]}`,
    );
  } else {
    await createSqlalchemyTable(database);
    await admin(
      `INSERT INTO celery_taskmeta (task_id, status, name, date_done) SELECT ${id}, 'SUCCESS', 'shop.add', ${date} FROM ${NUMBERS[dialect]}`,
    );
  }
  const tables = (['taskresult', 'groupresult', 'chordcounter'] as const).map(
    (table) => `django_celery_results_${table}`,
  );
  const analyzed = writer === 'django' ? tables.join(', ') : 'celery_taskmeta';
  await admin(dialect === 'mysql' ? `ANALYZE TABLE ${analyzed}` : 'ANALYZE');
}

/** Polls, scans and looks up, and looks at the plan of each statement that was sent. */
export async function checkPlans(database: AppDatabase, writer: 'django' | 'sqlalchemy'): Promise<void> {
  const { sql, sent, admin } = database;
  const watched = watchResults(sql, writer);
  const signal = new AbortController().signal;
  const statesOf = async (id: string): Promise<unknown[]> => {
    const states: unknown[] = [];
    for await (const found of watched.backend.stored.find([id], signal)) {
      states.push(...found.map(({ text }) => (JSON.parse(text) as { status: unknown }).status));
    }
    return states;
  };
  try {
    await until(() => watched.ups.length > 0);
    const begin = sent.length;
    if (writer === 'django') {
      await storeDjango(database, { task_id: 'running', status: 'STARTED', result: '{}' });
      await until(() => watched.statesOf('running').length > 0);
      const done = dateIn(sql.dialect, Date.now());
      await admin(
        `UPDATE django_celery_results_taskresult SET status = 'SUCCESS', date_done = '${done}' WHERE task_id = 'running'`,
      );
      await until(() => watched.statesOf('running').includes('SUCCESS'));
    } else {
      await admin("INSERT INTO celery_taskmeta (task_id, status) VALUES ('running', 'STARTED')");
      await until(() => watched.statesOf('running').length > 0);
      await admin("UPDATE celery_taskmeta SET status = 'SUCCESS' WHERE task_id = 'running'");
      // Without an index of dates, an open task is looked up.
      expect(await statesOf('running')).toEqual(['SUCCESS']);
    }
    const scanned: string[] = [];
    const step = await watched.backend.stored.scan(
      null,
      async (ids) => {
        scanned.push(...ids);
        return ids.slice(0, 300);
      },
      signal,
    );
    for await (const part of step.parts) expect(part.tasks.length).toBeLessThanOrEqual(50);
    const select = async (ids: readonly string[]) => {
      scanned.push(...ids);
      return [];
    };
    await watched.backend.stored.scan(step.next, select, signal);
    // The newest first, and each once.
    expect(scanned).toEqual(['running', ...Array.from({ length: 999 }, (_, at) => `old-${ROWS - at}`)]);
    for await (const found of watched.backend.stored.find(['old-7', 'old-8'], signal))
      expect(found.map(({ id }) => id).sort()).toEqual(['old-7', 'old-8']);
    expect(await watched.backend.stored.size(signal)).toBeGreaterThanOrEqual(ROWS);
    const statements = new Map(sent.slice(begin).map((statement) => [statement.text, statement]));
    // The end of the table, new rows, values, a look-up, steps of a scan, and the size.
    expect(statements.size).toBeGreaterThanOrEqual(6);
    const plans = await Promise.all(
      [...statements.values()].map(async ({ text, values }) => ({
        text,
        bad: wholeTables(sql.dialect, await explain(database, text, values)),
      })),
    );
    expect(plans.filter(({ bad }) => bad.length > 0)).toEqual([]);
  } finally {
    await watched.close();
  }
}

async function explain(
  { sql }: AppDatabase,
  text: string,
  values: readonly string[],
): Promise<readonly Record<string, unknown>[]> {
  const word = sql.dialect === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  return (await sql.query(`${word} ${text}`, [...values])) as readonly Record<string, unknown>[];
}

/** Steps of a plan that read a whole table. */
function wholeTables(dialect: string, plan: readonly Record<string, unknown>[]): unknown[] {
  if (dialect === 'postgres')
    return plan.map((row) => row['QUERY PLAN']).filter((line) => /Seq Scan/.test(String(line)));
  // `index`: all of an index. With a limit, it ends early; the greatest key is read without a table.
  if (dialect === 'mysql')
    return plan.filter(({ type, rows }) => type === 'ALL' || (type === 'index' && Number(rows) > 2_000));
  return plan
    .map(({ detail }) => detail)
    .filter((line) => /^SCAN (?!CONSTANT)(?!.*USING)/.test(String(line)));
}
