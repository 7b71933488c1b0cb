/** A database whose calls end in time, fail with a `StoreError`, and are repeated after conflicts with others. */
import type { SqlDatabase } from './sql-database.ts';
import { isStoreError, StoreError } from './store-error.ts';

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
