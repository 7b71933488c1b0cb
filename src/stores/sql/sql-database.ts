/** What a value of a statement can be. An array is one value: the column of a batch. */
export type SqlValue = string | number | null | readonly (string | number | null)[];

/** One row of an answer, by column. */
export type SqlRow = Readonly<Record<string, string | number | null>>;

/** Types of columns that both engines know under some name. Times are `real`: whole milliseconds fit exactly. */
export type SqlType = 'text' | 'integer' | 'real';

/** Where the engines' SQL differs. */
export interface SqlDialect {
  readonly name: 'sqlite' | 'postgres';
  /** The clock of the database, in milliseconds since 1970. */
  readonly now: string;
  /** Bytes on disk of all tables. */
  size(prefix: string): string;
  /** The name of a column type. */
  type(type: SqlType): string;
  /** Whether an expression equals one of the texts of an array that is bound as `$at`. */
  isAny(expression: string, at: number): string;
}

/** Rows to insert into a table. */
export interface SqlInsert {
  /** The table, and the name by which `tail` calls it. */
  readonly into: string;
  readonly columns: readonly (readonly [name: string, type: SqlType])[];
  /** What follows the rows: `ON CONFLICT …` and `RETURNING …`. */
  readonly tail: string;
}

/** A database as the store uses it. Rejects with whatever the driver throws. */
export interface SqlDatabase {
  readonly dialect: SqlDialect;
  /** Runs one statement. Values are bound as `$1`, `$2`, … */
  query(text: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /**
   * Inserts rows, all or none of them.
   *
   * @param values by column, each with one value for each row
   * @returns what the tail returns
   */
  insert(
    insert: SqlInsert,
    values: readonly (readonly (string | number | null)[])[],
  ): Promise<readonly SqlRow[]>;
  /** Runs several statements without values, all or none of them. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}
