import type { SqlField, SqlRow } from '../sql/sql-database.ts';

/** The kinds of requests to the thread. */
export type SqliteWork =
  | { readonly kind: 'query'; readonly text: string; readonly values: readonly SqlField[] }
  /** Runs the statement once for each row, in one transaction. */
  | { readonly kind: 'batch'; readonly text: string; readonly rows: readonly SqlRow[] }
  /** Runs several statements in one transaction. Creates the file if there is none. */
  | { readonly kind: 'script'; readonly text: string }
  | { readonly kind: 'close' };

/** What a thread is started with. */
export interface SqliteThreadData {
  /** Of the file. */
  readonly path: string;
  /** Whether it writes. */
  readonly writes: boolean;
}

/** A request to the thread. */
export interface SqliteRequest {
  readonly id: number;
  readonly work: SqliteWork;
  /** The deadline, in milliseconds since 1970. After it, the request is not run. */
  readonly expiresAt: number;
}

/** The answer of the thread. */
export type SqliteReply =
  | { readonly id: number; readonly rows: readonly SqlRow[] }
  | { readonly id: number; readonly failure: SqliteFailure };

/** An error, as it crosses threads. */
export interface SqliteFailure {
  /** A code of SQLite, extended; 0: none. */
  readonly number: number;
  /** A code of Node, such as `ENOENT`, or one of ours: `NO_FILE`, `FILE_REPLACED`, `NO_SQLITE`, `EXPIRED`. */
  readonly code: string;
  readonly message: string;
}
