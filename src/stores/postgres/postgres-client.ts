/** The host's own client of PostgreSQL: a pool of the package `pg`, or a client of the package `postgres`. */
import type { SqlField, SqlRow } from '../sql/sql-database.ts';

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
