/** Finds the tables of results: of django-celery-results, or of Celery's own backend on SQLAlchemy. */
import { problemOf } from '../../hint.ts';
import type { CelerySqlTable, TableName } from '../../sql/sql-options.ts';
import { sqlError } from '../../sql/sql-problems.ts';
import { MOST_ROWS, type SqlReader, textOf } from '../../sql/sql-reader.ts';

/** Who writes the results: `django-db` or `db+…` in `result_backend`. */
export type ResultWriter = 'django' | 'sqlalchemy';

/** The tables of one writer. */
export interface ResultTables {
  readonly writer: ResultWriter;
  readonly results: SqlTable;
  /** Groups; `null` where they cannot be read: pickled, missing or refused. */
  readonly groups: SqlTable | null;
  /** Counters of chords that run; `null` where they cannot be read. */
  readonly chords: SqlTable | null;
  /** Quoted names of tables that this user may not read. */
  readonly refused: readonly string[];
  /** Whether results can be found by `date_done` without reading the whole table. */
  readonly isDateIndexed: boolean;
}

/** The tables of results by who writes them. */
export const RESULT_TABLES = {
  django: 'django_celery_results_taskresult',
  sqlalchemy: 'celery_taskmeta',
} as const;

const GROUPS = 'django_celery_results_groupresult';
const CHORDS = 'django_celery_results_chordcounter';

/** Columns that every version has. */
const NEEDED = ['id', 'task_id', 'status', 'date_done', 'result', 'traceback'];

/**
 * Finds the tables and their features.
 *
 * @param writer `null`: not known; that of Django wins, unless it is empty
 * @returns `null` when there are none, unless a writer is given
 * @throws SqlError: `NOTABLE` when the writer has none, and `NOPERM` when they may not be read
 */
export async function findResultTables(
  reader: SqlReader,
  writer: ResultWriter | null,
  signal: AbortSignal,
): Promise<ResultTables | null> {
  let found: { readonly writer: ResultWriter; readonly results: SqlTable } | null = null;
  for (const candidate of writer === null ? (['django', 'sqlalchemy'] as const) : [writer]) {
    try {
      const results = await describeTable(reader, RESULT_TABLES[candidate], signal);
      if (results === null || !NEEDED.every((column) => results.types.has(column))) continue;
      found ??= { writer: candidate, results };
      if (writer !== null || (await hasRows(reader, results, signal))) {
        found = { writer: candidate, results };
        break;
      }
    } catch (error) {
      // MySQL also refuses tables that do not exist, and no writer is configured.
      if (writer !== null || problemOf(error).code !== 'NOPERM') throw error;
    }
  }
  if (found === null) {
    if (writer !== null) throw sqlError('NOTABLE');
    return null;
  }
  return { ...found, ...(await besides(reader, found.writer, found.results, signal)) };
}

async function besides(
  reader: SqlReader,
  writer: ResultWriter,
  { types, indexed }: SqlTable,
  signal: AbortSignal,
): Promise<Omit<ResultTables, 'writer' | 'results'>> {
  const refused: string[] = [];
  const optional = async (table: typeof GROUPS | typeof CHORDS): Promise<SqlTable | null> => {
    try {
      return await describeTable(reader, table, signal);
    } catch (error) {
      if (problemOf(error).code !== 'NOPERM') throw error;
      refused.push(reader.dialect.table(reader.options.tables[table]));
      return null;
    }
  };
  const isDjango = writer === 'django';
  // Local time is repeated in autumn, so that it does not order results.
  const isOrdered = reader.options.timezone === 'UTC' || /with time zone/.test(types.get('date_done') ?? '');
  return {
    groups: isDjango ? await optional(GROUPS) : null,
    chords: isDjango ? await optional(CHORDS) : null,
    refused,
    isDateIndexed: indexed.has('date_done') && isOrdered,
  };
}

async function hasRows(reader: SqlReader, { from }: SqlTable, signal: AbortSignal): Promise<boolean> {
  return (await reader.select({ text: `SELECT 1 AS one FROM ${from}`, limit: 1 }, signal)).length > 0;
}

/** A table that exists. */
export interface SqlTable {
  readonly name: TableName;
  /** Its quoted name. */
  readonly from: string;
  /** The types of its columns, by name. */
  readonly types: ReadonlyMap<string, string>;
  /** The columns with which an index begins, besides the primary key. */
  readonly indexed: ReadonlySet<string>;
}

/**
 * Reads columns and indexes of a table, and whether it may be read: versions of Celery and Django differ.
 *
 * @returns `null` if it does not exist
 * @throws SqlError, with the code `NOPERM` when it may not be read
 */
async function describeTable(
  reader: SqlReader,
  table: CelerySqlTable,
  signal?: AbortSignal,
): Promise<SqlTable | null> {
  const { dialect } = reader;
  const name = reader.options.tables[table];
  const from = dialect.table(name);
  const columns = await reader.select({ ...dialect.columns(name), limit: MOST_ROWS }, signal);
  // MySQL does not list tables that may not be read, and PostgreSQL lists all.
  if (!(await isReadable(reader, from, signal)) || columns.length === 0) return null;
  const indexed = await reader.select({ ...dialect.indexed(name), limit: MOST_ROWS }, signal);
  return {
    name,
    from,
    types: new Map(columns.map((row) => [textOf(row, 'name') ?? '', textOf(row, 'type') ?? ''])),
    indexed: new Set(indexed.map((row) => textOf(row, 'name') ?? '')),
  };
}

async function isReadable(reader: SqlReader, from: string, signal?: AbortSignal): Promise<boolean> {
  try {
    await reader.select({ text: `SELECT 1 AS one FROM ${from}`, limit: 1 }, signal);
    return true;
  } catch (error) {
    if (problemOf(error).code === 'NOTABLE') return false;
    throw error;
  }
}
