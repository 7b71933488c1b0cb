import type { SqlRow } from '../sql/sql-database.ts';

type Values = readonly (string | number | null)[];

/** What the thread is asked to do. */
export type SqliteRequest =
  | { readonly id: number; readonly kind: 'script'; readonly text: string }
  | { readonly id: number; readonly kind: 'query'; readonly text: string; readonly values: Values }
  /** Runs the statement once for each row, in one transaction. */
  | { readonly id: number; readonly kind: 'insert'; readonly text: string; readonly rows: readonly Values[] };

/** What it answers. */
export type SqliteReply =
  | { readonly id: number; readonly rows: readonly SqlRow[] }
  | { readonly id: number; readonly error: string };
