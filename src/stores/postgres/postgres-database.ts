import { runInSlices, type Steps } from '../../scheduler.ts';
import { TABLES, type TableNames } from '../sql/schema.ts';
import type { SqlDatabase, SqlDialect, SqlField, SqlRow, SqlType, SqlValue } from '../sql/sql-database.ts';

/** PostgreSQL over the host's client, which stays open when the store is closed. */
export function createPostgresDatabase(client: PostgresClient): SqlDatabase {
  const run = (text: string, values: readonly SqlValue[]) => client.query(text, values.map(bound));
  return {
    dialect: POSTGRES,
    read: run,
    write: run,
    async batch({ text, columns }, rows) {
      const names = columns.map(([name]) => `new_${name}`).join(', ');
      const arrays = columns.map(([, type], at) => `$${at + 1}::${ARRAYS[type]}`).join(', ');
      const values = await runInSlices('store', arraysOf(columns.length, rows));
      return client.query(`WITH given (${names}) AS (SELECT * FROM unnest(${arrays})) ${text}`, values);
    },
    script: (text) => client.script(text),
    close: async () => {},
  };
}

function bound(value: SqlValue): SqlField {
  return typeof value === 'object' && value !== null ? arrayText(value) : value;
}

/** Each column of the rows as an array. */
function* arraysOf(count: number, rows: readonly SqlRow[]): Steps<string[]> {
  const arrays: string[] = [];
  for (let at = 0; at < count; at++) {
    arrays.push(arrayText(rows.map((row) => row[at] ?? null)));
    yield;
  }
  return arrays;
}

/**
 * An array as PostgreSQL reads it. Drivers could write it, too, but postgres.js only where it may ask the server for
 * its types.
 */
function arrayText(values: readonly SqlField[]): string {
  const texts = values.map((value) => {
    if (value === null) return 'NULL';
    return typeof value === 'number' ? String(value) : quoted(value);
  });
  return `{${texts.join(',')}}`;
}

/** Characters that JSON and array literals write differently: control characters, and halves of a surrogate pair. */
const OTHER_IN_JSON = /[^ -\ud7ff\ue000-\uffff]/;

function quoted(text: string): string {
  // Much faster, and the same for nearly every text.
  if (!OTHER_IN_JSON.test(text)) return JSON.stringify(text);
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

const TYPES: Readonly<Record<SqlType, string>> = {
  // Sorted by code points, as far as possible like JavaScript, and not by the rules of a language.
  text: 'text COLLATE "C"',
  integer: 'integer',
  real: 'double precision',
};

/** Types of arrays of a column. */
const ARRAYS: Readonly<Record<SqlType, string>> = {
  text: 'text[]',
  integer: 'integer[]',
  real: 'double precision[]',
};

/** PostgreSQL 13 and later. */
export const POSTGRES: SqlDialect = {
  name: 'postgres',
  now: '(extract(epoch FROM clock_timestamp()) * 1000)::double precision',
  clustered: '',
  byDay: ' PARTITION BY RANGE (day)',
  rowId: null,
  unindexed: null,
  type: (type) => TYPES[type],
  isGiven: (column, type, at) => `${column} = ANY($${at}::${ARRAYS[type]})`,
  floor: (expression) => `floor(${expression})`,
  isAny: (expression, at) => `${expression} = ANY($${at}::text[])`,
};

/** The statement for the bytes on disk of all tables and their indexes, times the given value. */
export function postgresSize(names: TableNames): string {
  const tables = ['meta', 'source', ...Object.keys(TABLES)].map(
    (name) => `SELECT to_regclass('${names.of(name)}') AS oid`,
  );
  const days = `SELECT inhrelid FROM pg_inherits WHERE inhparent IN (to_regclass('${names.task}'), to_regclass('${names.relation}'))`;
  return `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::double precision * $1::integer
    FROM (${[...tables, days].join(' UNION ALL ')}) AS tables`;
}

/** The members of a `Pool` of `pg` 8 that are used. A single `Client` works, too. */
export interface PgPool {
  query(query: string | { text: string; values: unknown[]; rowMode: 'array' }): Promise<unknown>;
}

/** The members of a client of `postgres` 3 (postgres.js) that are used. */
export interface PostgresJs {
  unsafe(text: string, values?: never[]): PromiseLike<unknown>;
  /** A connection that nothing else uses. */
  reserve?(): Promise<{ unsafe(text: string): PromiseLike<unknown>; release(): void }>;
}

/** Runs statements on the host's client. None of them is prepared under a name, and none needs a connection of its own. */
export interface PostgresClient {
  /** @returns rows as arrays, so that no setting of the host renames their columns */
  query(text: string, values: readonly SqlField[]): Promise<readonly SqlRow[]>;
  /** Runs several statements without values, which the server takes as one transaction. */
  script(text: string): Promise<void>;
}

/** @returns `null` if it is neither of them */
export function postgresClient(client: unknown): PostgresClient | null {
  if (hasFunction(client, 'unsafe')) {
    const sql = client as unknown as PostgresJs;
    return {
      async query(text, values) {
        const pending = sql.unsafe(text, [...values] as never[]) as PromiseLike<unknown> & {
          values?(): PromiseLike<unknown>;
        };
        return rowsOf(await (pending.values?.() ?? pending));
      },
      // After a statement without values, nothing else may be sent on the same connection: see `SqlValues`.
      async script(text) {
        const connection = await sql.reserve?.();
        try {
          await (connection ?? sql).unsafe(text);
        } finally {
          connection?.release();
        }
      },
    };
  }
  if (hasFunction(client, 'query')) {
    const pool = client as unknown as PgPool;
    return {
      async query(text, values) {
        const answer = await pool.query({ text, values: [...values], rowMode: 'array' });
        return rowsOf((answer as { readonly rows?: unknown } | undefined)?.rows);
      },
      script: async (text) => void (await pool.query(text)),
    };
  }
  return null;
}

function hasFunction(value: unknown, name: string): boolean {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject && typeof (value as Record<string, unknown>)[name] === 'function';
}

function rowsOf(rows: unknown): readonly SqlRow[] {
  return Array.isArray(rows) ? (rows as readonly SqlRow[]) : [];
}
