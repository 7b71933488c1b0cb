/** The database of a store: what the engines have in common, and its errors. */

/** The types of values in a statement. An array is one value: texts of which any may match. */
export type SqlValue = string | number | null | readonly string[];

/**
 * The values of a statement, one at least. PgBouncer up to 1.20 loses data that postgres.js sends after a statement
 * without values, and neither of them reports it.
 */
type SqlValues = readonly [SqlValue, ...SqlValue[]];

/** The types of columns in a row. */
export type SqlField = string | number | null;

/** One row of an answer: its columns in the order of the statement. */
export type SqlRow = readonly SqlField[];

/** Types of columns that both engines know under some name. Times are `real`: whole milliseconds fit exactly. */
export type SqlType = 'text' | 'integer' | 'real';

/** A column and its type. */
export type SqlColumn = readonly [name: string, type: SqlType];

/** The differences between the engines' SQL. */
export interface SqlDialect {
  readonly name: 'sqlite' | 'postgres';
  /** The clock of the database, in milliseconds since 1970. */
  readonly now: string;
  /** The clause for a table whose rows are kept in the order of its key, if the engine supports it. */
  readonly clustered: string;
  /** The clause for partitions by day; `null`: one table has all days. */
  readonly byDay: string | null;
  /** The column that finds a row without an index; `null`: only the key does. */
  readonly rowId: string | null;
  /**
   * Compares a column without using the index of that column; `null`: the planner chooses the index by its own
   * statistics.
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
  /** Whether an expression equals one of the texts of an array that is bound as `$at`. */
  isAny(expression: string, at: number): string;
}

/** One statement that runs over rows. */
export interface SqlBatch {
  /** The statement. It reads the rows from `given`, whose columns are called `new_` and their name. */
  readonly text: string;
  readonly columns: readonly SqlColumn[];
}

/** The interface of a database for the store. Every call rejects with a `StoreError` within its deadline. */
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

/** How long a call may take, in milliseconds. */
export interface Deadlines {
  readonly read: number;
  readonly write: number;
}

export const DEADLINES: Deadlines = { read: 5_000, write: 10_000 };

/** How often a statement runs when another instance changes the same rows. */
const ATTEMPTS = 4;

/** @param describe converts an error of the driver to a failure of the store */
export function guardDatabase(
  database: SqlDatabase,
  describe: (error: unknown) => StoreError,
  deadlines: Deadlines = DEADLINES,
): SqlDatabase {
  const within = async <Result>(ms: number, run: () => Promise<Result>): Promise<Result> => {
    try {
      return await endIn(ms, run());
    } catch (error) {
      throw error instanceof StoreError ? error : describe(error);
    }
  };
  return {
    dialect: database.dialect,
    read: (text, values) => within(deadlines.read, () => database.read(text, values)),
    write: (text, values) => retry(() => within(deadlines.write, () => database.write(text, values))),
    batch: (batch, rows) => retry(() => within(deadlines.write, () => database.batch(batch, rows))),
    script: (text) => within(deadlines.write, () => database.script(text)),
    close: () => within(deadlines.write, () => database.close()),
  };
}

/** A late answer is ignored. */
async function endIn<Result>(ms: number, result: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreError('timeout', `The database has not answered within ${ms / 1_000} s.`));
    }, ms);
  });
  try {
    return await Promise.race([result, end]);
  } finally {
    clearTimeout(timer);
  }
}

async function retry<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (attempt === ATTEMPTS || !isStoreError(error, 'conflict')) throw error;
    }
  }
}

/** Kinds of failures that have a remedy, or that the code reacts to. */
export type StoreErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'overloaded'
  | 'unsupported'
  | 'schema_newer'
  | 'schema_older'
  | 'schema_missing'
  | 'source_taken'
  | 'source_missing'
  | 'read_only'
  | 'disk_full'
  | 'corrupt'
  | 'locked'
  | 'permission'
  | 'conflict'
  /** Of a value, not of the statement: others may be written without it. */
  | 'refused'
  | 'failed';

/** A failure of a store. `message` is a sentence without secrets and values. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** The remedy, as a sentence. */
  readonly remedy: string;

  constructor(code: StoreErrorCode, message: string, remedy: string = REMEDIES[code]) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

const REMEDIES: Readonly<Record<StoreErrorCode, string>> = {
  unreachable: 'Check that the database runs and that this host may connect to it.',
  timeout: 'Check the load and the locks of the database.',
  overloaded: 'Check the load of the database. It receives more requests than it can answer.',
  unsupported: 'Use Node 22.13 or later, or postgresStore.',
  schema_newer: 'Upgrade express-task-monitor on this instance.',
  schema_older: 'Stop all instances, drop these tables, and start again: they are of a pre-release.',
  schema_missing:
    'Start an instance that may create the tables, or create them as described in docs/history.md.',
  source_taken: 'Give one of the sources another name.',
  source_missing: 'Start an instance that writes under this name.',
  read_only: 'Make the database writable, or open the store with readOnly: true.',
  disk_full: 'Free disk space, or shorten the retention of the store.',
  corrupt: 'Stop all processes that use it, move it away, and start again or restore a backup.',
  locked: 'Wait until the backup or migration that locks the database has ended.',
  permission: 'Give the role or user the rights that docs/history.md lists.',
  conflict: 'Nothing: the monitor tries again.',
  refused: 'Nothing: the value is omitted.',
  failed: 'See the log of the database.',
};

/** Whether an error is a failure of a store of this kind. */
export function isStoreError(error: unknown, ...codes: readonly StoreErrorCode[]): error is StoreError {
  return error instanceof StoreError && codes.includes(error.code);
}
