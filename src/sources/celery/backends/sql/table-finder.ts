import { problemOf } from '../../problem.ts';
import type { SqlReader } from '../../sql/sql-reader.ts';
import { createRowValues, type RowValues } from './result-rows.ts';
import { findResultTables, type ResultTables, type ResultWriter } from './result-tables.ts';

/** How long tables that do not exist are not searched again, in milliseconds. */
const MISSING_FOR_MS = 3_000;

/** The tables of results, and how their rows are read. */
export interface FoundTables {
  readonly tables: ResultTables;
  readonly values: RowValues;
}

/** Finds the tables once, and again after they have changed. */
export interface TableFinder {
  /**
   * @returns `null` when there are none
   * @throws SqlError
   */
  find(signal: AbortSignal): Promise<FoundTables | null>;
  /** The tables that were found last; `null` before, and when there are none. */
  known(): FoundTables | null;
  /** Whether they were searched, and the database answered. */
  hasLooked(): boolean;
  /** To be called with errors of statements: a migration may have changed the tables. */
  failed(error: unknown): void;
}

/** @param writer whose tables to find; `null`: unknown */
export function createTableFinder(reader: SqlReader, writer: ResultWriter | null): TableFinder {
  let found: FoundTables | null = null;
  let missingSince = Number.NEGATIVE_INFINITY;
  return {
    async find(signal) {
      if (found !== null || performance.now() - missingSince < MISSING_FOR_MS) return found;
      const tables = await findResultTables(reader, writer, signal);
      if (tables === null) missingSince = performance.now();
      else found = { tables, values: createRowValues(reader, tables) };
      return found;
    },
    known: () => found,
    hasLooked: () => found !== null || missingSince > Number.NEGATIVE_INFINITY,
    failed(error) {
      const { code } = problemOf(error);
      if (code === 'NOTABLE' || code === 'NOCOLUMN' || code === 'NOPERM') found = null;
    },
  };
}
