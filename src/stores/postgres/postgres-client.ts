/** The host's own client of PostgreSQL: a pool of the package `pg`, or a client of the package `postgres`. */
import type { SqlRow, SqlValue } from '../sql/sql-database.ts';

/** A `Pool` of `pg` 8, as far as it is used. A single `Client` works, too. */
export interface PgPool {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

/** A client of `postgres` 3 (postgres.js), as far as it is used. */
export interface PostgresJs {
  unsafe(text: string, values?: never[]): PromiseLike<unknown>;
}

/** Runs a statement, and gives its rows. */
export type RunQuery = (text: string, values: readonly SqlValue[]) => Promise<readonly SqlRow[]>;

/** @returns `null` for what is neither of them */
export function queryOf(client: unknown): RunQuery | null {
  if (hasFunction(client, 'unsafe')) {
    const sql = client as unknown as PostgresJs;
    return async (text, values) =>
      rowsOf(await (values.length === 0 ? sql.unsafe(text) : sql.unsafe(text, [...values] as never[])));
  }
  if (hasFunction(client, 'query')) {
    const pool = client as unknown as PgPool;
    return async (text, values) => {
      const answer = await (values.length === 0 ? pool.query(text) : pool.query(text, [...values]));
      return rowsOf((answer as { readonly rows?: unknown } | undefined)?.rows);
    };
  }
  return null;
}

function hasFunction(value: unknown, name: string): boolean {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject && typeof (value as Record<string, unknown>)[name] === 'function';
}

/** Several statements give an array of answers, of which nothing is read. */
function rowsOf(rows: unknown): readonly SqlRow[] {
  return Array.isArray(rows) ? (rows as readonly SqlRow[]) : [];
}
