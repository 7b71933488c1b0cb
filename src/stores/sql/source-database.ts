/** The database as one source uses it: its number is the first value of every statement and of every row. */
import type { TableNames } from './schema.ts';
import { isStoreError, type SqlBatch, type SqlDatabase, type SqlRow, type SqlValue } from './sql-database.ts';

/** A source in the database. `$1` of each statement is its number. */
export interface SourceDatabase {
  /** The database itself, for data that belongs to no source. */
  readonly database: SqlDatabase;
  readonly names: TableNames;
  /** Registers the source, if that is not done yet. @returns its number */
  id(): Promise<number>;
  read(text: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  write(text: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** @param rows without the number of the source, which is the first column */
  batch(batch: SqlBatch, rows: readonly SqlRow[]): Promise<readonly SqlRow[]>;
}

/**
 * @param register gives the number of the source, and creates what is missing. It is called again when the tables were
 *   dropped or the file was deleted.
 */
export function createSourceDatabase(
  database: SqlDatabase,
  names: TableNames,
  register: () => Promise<number>,
): SourceDatabase {
  let number: Promise<number> | null = null;
  const run = async <Result>(work: (id: number) => Promise<Result>): Promise<Result> => {
    number ??= register();
    const used = number;
    try {
      return await work(await used);
    } catch (error) {
      const isRegistered = await used.then(
        () => true,
        () => false,
      );
      const isLost = !isRegistered || isStoreError(error, 'schema_missing');
      if (isLost && number === used) number = null;
      throw error;
    }
  };
  return {
    database,
    names,
    id: () => run(async (id) => id),
    read: (text, ...values) => run((id) => database.read(text, [id, ...values])),
    write: (text, ...values) => run((id) => database.write(text, [id, ...values])),
    batch: (batch, rows) =>
      rows.length === 0
        ? Promise.resolve([])
        : run((id) =>
            database.batch(
              batch,
              rows.map((row) => [id, ...row]),
            ),
          ),
  };
}
