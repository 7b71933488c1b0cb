/** Tables of results as migrations of Django and SQLAlchemy make them, and a backend that reads them. */

import type { CelerySqlOptions } from '../../../src/celery.ts';
import { createSqlResultBackend } from '../../../src/sources/celery/backends/sql/sql-result-backend.ts';
import type { ResultBackend } from '../../../src/sources/celery/result-backend.ts';
import { readSqlOptions } from '../../../src/sources/celery/sql/sql-options.ts';
import { createSqlReader } from '../../../src/sources/celery/sql/sql-reader.ts';
import type { AppDatabase } from './sql-databases.ts';

type Dialect = CelerySqlOptions['dialect'];

/** How each database names the types of columns. */
const TYPES: Readonly<
  Record<Dialect, { key: string; time: string; naive: string; text: string; bytes: string }>
> = {
  postgres: {
    key: 'serial PRIMARY KEY',
    time: 'timestamptz',
    naive: 'timestamp',
    text: 'text',
    bytes: 'bytea',
  },
  mysql: {
    key: 'integer AUTO_INCREMENT PRIMARY KEY',
    time: 'datetime(6)',
    naive: 'datetime',
    text: 'longtext',
    bytes: 'blob',
  },
  sqlite: {
    key: 'integer PRIMARY KEY AUTOINCREMENT',
    time: 'datetime',
    naive: 'datetime',
    text: 'text',
    bytes: 'blob',
  },
};

const INDEXED = ['task_name', 'status', 'worker', 'date_created', 'date_done'];

/** Creates the tables of django-celery-results 2.4. */
export async function createDjangoTables({ sql, admin }: AppDatabase): Promise<void> {
  const { key, time, text } = TYPES[sql.dialect];
  const content = `content_type varchar(128) NOT NULL, content_encoding varchar(64) NOT NULL, result ${text}`;
  const dates = `date_created ${time} NOT NULL, date_done ${time} NOT NULL`;
  await admin(
    `CREATE TABLE django_celery_results_taskresult (id ${key}, task_id varchar(255) NOT NULL UNIQUE, periodic_task_name varchar(255), task_name varchar(255), task_args ${text}, task_kwargs ${text}, status varchar(50) NOT NULL, worker varchar(100), ${content}, ${dates}, traceback ${text}, meta ${text})`,
  );
  for (const column of INDEXED)
    await admin(`CREATE INDEX task_${column} ON django_celery_results_taskresult (${column})`);
  await admin(
    `CREATE TABLE django_celery_results_groupresult (id ${key}, group_id varchar(255) NOT NULL UNIQUE, ${dates}, ${content})`,
  );
  await admin(
    `CREATE TABLE django_celery_results_chordcounter (id ${key}, group_id varchar(255) NOT NULL UNIQUE, sub_tasks ${text} NOT NULL, count integer NOT NULL)`,
  );
}

/** Creates the table of Celery 5.2 on SQLAlchemy. */
export async function createSqlalchemyTable({ sql, admin }: AppDatabase, isExtended = true): Promise<void> {
  const { key, naive, text, bytes } = TYPES[sql.dialect];
  const extended = `, name varchar(155), args ${bytes}, kwargs ${bytes}, worker varchar(155), retries integer, queue varchar(155)`;
  await admin(
    `CREATE TABLE celery_taskmeta (id ${key}, task_id varchar(155) UNIQUE, status varchar(50), result ${bytes}, date_done ${naive}, traceback ${text}${isExtended ? extended : ''})`,
  );
}

/** A row of django-celery-results. */
export interface DjangoRow {
  readonly id?: number;
  readonly task_id: string;
  readonly status: string;
  readonly result?: string | null;
  readonly task_name?: string | null;
  readonly task_args?: string | null;
  readonly worker?: string | null;
  readonly content_type?: string;
  readonly content_encoding?: string;
  readonly traceback?: string | null;
  readonly meta?: string | null;
  /** Milliseconds since 1970. Default: now. */
  readonly created?: number;
  readonly done?: number;
}

/** @returns the literal of a value */
function literal(value: string | number | null): string {
  if (value === null) return 'NULL';
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

/** A date as Django writes it. */
export function dateIn(dialect: Dialect, time: number): string {
  const text = new Date(time).toISOString().replace('T', ' ').slice(0, -1);
  return dialect === 'postgres' ? `${text}+00` : `${text}000`;
}

/** Stores a result as django-celery-results does. */
export async function storeDjango({ sql, admin }: AppDatabase, row: DjangoRow): Promise<void> {
  const { created = Date.now(), done = Date.now(), ...columns } = row;
  const values = {
    content_type: 'application/json',
    content_encoding: 'utf-8',
    meta: '{"children": []}',
    ...columns,
    date_created: dateIn(sql.dialect, created),
    date_done: dateIn(sql.dialect, done),
  };
  const names = Object.keys(values).join(', ');
  const list = Object.values(values).map(literal).join(', ');
  await admin(`INSERT INTO django_celery_results_taskresult (${names}) VALUES (${list})`);
}

/** What a backend has published. */
export interface Watched {
  readonly backend: ResultBackend;
  /** The texts, in their order, parsed. */
  readonly tasks: Record<string, unknown>[];
  readonly groups: { readonly id: string; readonly text: string }[];
  /** How often it was up; true: again. */
  readonly ups: boolean[];
  /** Results of one task, as its states. */
  statesOf(id: string): unknown[];
  close(): Promise<void>;
}

/** Reads results every 20 ms. */
export function watchResults(
  sql: CelerySqlOptions,
  writer: 'django' | 'sqlalchemy' | null = null,
  timeoutMs?: number,
  heardGroup: () => void = () => {},
): Watched {
  const options = readSqlOptions(sql, {});
  if (options === null) throw new Error('there are options');
  const reader = createSqlReader(options, timeoutMs);
  const backend = createSqlResultBackend(reader, writer, 20);
  const tasks: Record<string, unknown>[] = [];
  const groups: { id: string; text: string }[] = [];
  const ups: boolean[] = [];
  backend.published.start({
    up: (again) => ups.push(again),
    task: (text) => tasks.push(JSON.parse(text) as Record<string, unknown>),
    group(text, id) {
      groups.push({ id, text });
      heardGroup();
    },
    lost() {},
  });
  return {
    ...{ backend, tasks, groups, ups },
    statesOf: (id) => tasks.filter((task) => task.task_id === id).map(({ status }) => status),
    async close() {
      await backend.close();
      reader.close();
    },
  };
}
