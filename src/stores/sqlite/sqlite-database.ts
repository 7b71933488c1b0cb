import {
  DEADLINES,
  type SqlBatch,
  type SqlDatabase,
  type SqlDialect,
  type SqlField,
  type SqlType,
  type SqlValue,
  StoreError,
  type StoreErrorCode,
} from '../sql/sql-database.ts';
import { createSqliteWorker, SqliteFault } from './sqlite-worker.ts';

/**
 * SQLite in threads of its own: one writes and one reads, so that a long read holds up no write.
 *
 * @param path of the file, which is created with the tables
 * @param program of the threads
 */
export function createSqliteDatabase(path: string, program: URL): SqlDatabase {
  const writer = createSqliteWorker({ path, writes: true }, program);
  const reader = createSqliteWorker({ path, writes: false }, program);
  const query = (text: string, values: readonly SqlValue[]) =>
    ({ kind: 'query', text: numbered(text), values: values.map(bound) }) as const;
  return {
    dialect: SQLITE,
    read: (text, values) => reader.ask(query(text, values), DEADLINES.read),
    write: (text, values) => writer.ask(query(text, values), DEADLINES.write),
    batch: (batch, rows) => writer.ask({ kind: 'batch', text: batchText(batch), rows }, DEADLINES.write),
    script: async (text) => void (await writer.ask({ kind: 'script', text }, DEADLINES.write)),
    async close() {
      // One after the other: of two connections that close at once, neither is the last, which empties the log.
      await reader.close();
      await writer.close();
    },
  };
}

/** `given` is the one row for which the statement runs. */
function batchText({ text, columns }: SqlBatch): string {
  const names = columns.map(([name]) => `new_${name}`).join(', ');
  const places = columns.map((_, at) => `?${at + 1}`).join(', ');
  return `WITH given (${names}) AS (VALUES (${places})) ${text}`;
}

/** SQLite takes `$1` for a name, and `?1` for the first value. */
function numbered(text: string): string {
  return text.replaceAll(/\$(\d+)/g, '?$1');
}

/** An array is bound as JSON, which `json_each` reads. */
function bound(value: SqlValue): SqlField {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

const TYPES: Readonly<Record<SqlType, string>> = { text: 'TEXT', integer: 'INTEGER', real: 'REAL' };

/** SQLite 3.47 and later, as Node 22.13 brings it. Arrays are bound as JSON. */
const SQLITE: SqlDialect = {
  name: 'sqlite',
  now: "(unixepoch('now', 'subsec') * 1000)",
  clustered: ' WITHOUT ROWID',
  byDay: null,
  rowId: 'rowid',
  unindexed: (column) => `+${column}`,
  type: (type) => TYPES[type],
  isGiven: () => 'true',
  floor: (expression) => `CAST(${expression} AS INTEGER)`,
  isAny: (expression, at) => `${expression} IN (SELECT value FROM json_each($${at}))`,
};

/** Bytes on disk, times the given value. */
export const SQLITE_SIZE = 'SELECT page_count * page_size * $1 FROM pragma_page_count(), pragma_page_size()';

type Row = readonly [code: StoreErrorCode, sentence: string, remedy?: string];

/** By the lower byte of SQLite's code. */
const BY_NUMBER: ReadonlyMap<number, Row> = new Map([
  [3, ['permission', 'This process may not use the SQLite file.']],
  [5, ['locked', 'Another process holds the lock of the SQLite file.']],
  [6, ['locked', 'Another process holds the lock of the SQLite file.']],
  [8, ['read_only', 'The SQLite file is read-only.']],
  [10, ['failed', 'The disk of the SQLite file reports an error.', 'Check the disk.']],
  [11, ['corrupt', 'The SQLite file is damaged.']],
  [13, ['disk_full', 'The disk of the SQLite file is full.']],
  [
    14,
    [
      'unreachable',
      'The SQLite file cannot be opened.',
      'Check that its folder exists, and that this process may read and write there.',
    ],
  ],
  [18, ['refused', 'SQLite cannot store such a large value.']],
  [19, ['conflict', 'Another instance has written this row.']],
  [26, ['corrupt', 'The file is not an SQLite database.']],
] satisfies readonly (readonly [number, Row])[]);

const BY_CODE: Readonly<Record<string, Row>> = {
  NO_FILE: ['schema_missing', 'There is no SQLite file at this path.'],
  FILE_REPLACED: ['schema_missing', 'The SQLite file was deleted or replaced. It is opened again.'],
  NO_SQLITE: ['unsupported', `Node ${process.versions.node} has no node:sqlite.`],
  EXPIRED: ['timeout', 'SQLite was busy for too long.'],
  ENOENT: ['unreachable', 'The folder of the SQLite file does not exist.', 'Create it.'],
  EACCES: ['permission', 'This process may not create the SQLite file.'],
  EPERM: ['permission', 'This process may not create the SQLite file.'],
  EROFS: ['read_only', 'The disk of the SQLite file is read-only.'],
  ENOSPC: ['disk_full', 'The disk of the SQLite file is full.'],
};

/** @param error the error of the thread */
export function describeSqliteError(error: unknown): StoreError {
  if (!(error instanceof SqliteFault)) return new StoreError('failed', 'SQLite has failed.');
  const { number, code, message } = error.failure;
  // SQLite has no code of its own for these.
  if (/^no such table/.test(message))
    return new StoreError('schema_missing', 'The SQLite file has no tables of express-task-monitor.');
  if (/^table .* already exists/.test(message))
    return new StoreError('conflict', 'Another instance has created the tables.');
  const row = BY_CODE[code] ?? BY_NUMBER.get(number & 0xff);
  if (row === undefined)
    return new StoreError('failed', `SQLite has failed with code ${number === 0 ? code : number}.`);
  return new StoreError(...row);
}
