/** What a value of a statement can be. An array is one value: texts of which any may match. */
export type SqlValue = string | number | null | readonly string[];

/**
 * The values of a statement, one at least. PgBouncer up to 1.20 loses what postgres.js sends behind a statement without
 * values, and neither of them reports it.
 */
export type SqlValues = readonly [SqlValue, ...SqlValue[]];

/** What a column of a row can hold. */
export type SqlField = string | number | null;

/** One row of an answer: its columns in the order of the statement. */
export type SqlRow = readonly SqlField[];

/** Types of columns that both engines know under some name. Times are `real`: whole milliseconds fit exactly. */
export type SqlType = 'text' | 'integer' | 'real';

/** A column and its type. */
export type SqlColumn = readonly [name: string, type: SqlType];

/** Where the engines' SQL differs. */
export interface SqlDialect {
  readonly name: 'sqlite' | 'postgres';
  /** The clock of the database, in milliseconds since 1970. */
  readonly now: string;
  /** What follows a table whose rows are kept in the order of its key, where the engine can do that. */
  readonly clustered: string;
  /** What makes a table have partitions by day; `null`: `DayTables` creates a table for each day. */
  readonly byDay: string | null;
  /** The column that finds a row without an index; `null`: the key has to do. */
  readonly rowId: string | null;
  /**
   * Compares a column where another index is to be used than one that finds its values; `null`: the planner knows from
   * its own figures which of them to use.
   */
  readonly unindexed: ((column: string) => string) | null;
  /** The name of a column type. */
  type(type: SqlType): string;
  /**
   * Whether a column has one of the values that a batch gives for it: the planner of PostgreSQL then looks into the
   * tables of these days alone, and finds the rows by their key. Without it, a new table without statistics is sorted.
   *
   * @param at position of the column in the batch, from 1
   */
  isGiven(column: string, type: SqlType, at: number): string;
  /** The whole number below an expression that is not negative. */
  floor(expression: string): string;
  /** The pairs of two expressions of a group, as a JSON array of arrays. */
  pairs(first: string, second: string): string;
  /** Whether an expression equals one of the texts of an array that is bound as `$at`. */
  isAny(expression: string, at: number): string;
}

/** One statement that runs over rows. */
export interface SqlBatch {
  /** The statement. It reads the rows from `given`, whose columns are called `new_` and their name. */
  readonly text: string;
  readonly columns: readonly SqlColumn[];
}

/** A database as the store uses it. Every call rejects with a `StoreError`, and does so in time. */
export interface SqlDatabase {
  readonly dialect: SqlDialect;
  /** Runs a statement that changes nothing. Values are bound as `$1`, `$2`, … */
  read(text: string, values: SqlValues): Promise<readonly SqlRow[]>;
  /** Runs a statement that changes something. */
  write(text: string, values: SqlValues): Promise<readonly SqlRow[]>;
  /**
   * Runs a statement over rows, for all or none of them.
   *
   * @param rows each with one value for each column
   * @returns what the statement returns
   */
  batch(batch: SqlBatch, rows: readonly SqlRow[]): Promise<readonly SqlRow[]>;
  /** Runs several statements without values, all or none of them. */
  script(text: string): Promise<void>;
  /** Ends what was opened. A later call opens it again. */
  close(): Promise<void>;
}
