/** Failures of SQLite as failures of the store. */
import { StoreError, type StoreErrorCode } from '../sql/store-error.ts';
import { SqliteFault } from './sqlite-worker.ts';

type Row = readonly [code: StoreErrorCode, sentence: string, remedy?: string];

/** By the lower byte of SQLite's code. */
const BY_NUMBER: ReadonlyMap<number, Row> = new Map([
  [3, ['permission', 'This process may not use the file of SQLite.']],
  [5, ['locked', 'Another process holds the lock of the file of SQLite.']],
  [6, ['locked', 'Another process holds the lock of the file of SQLite.']],
  [8, ['read_only', 'The file of SQLite may only be read.']],
  [10, ['failed', 'The disk of the file of SQLite reports an error.', 'Check the disk.']],
  [11, ['corrupt', 'The file of SQLite is damaged.']],
  [13, ['disk_full', 'The disk of the file of SQLite is full.']],
  [
    14,
    [
      'unreachable',
      'The file of SQLite cannot be opened.',
      'Check that its folder exists, and that this process may read and write there.',
    ],
  ],
  [18, ['refused', 'SQLite cannot store a value that is so large.']],
  [19, ['conflict', 'Another instance has written this row.']],
  [26, ['corrupt', 'The file is not one of SQLite.']],
] satisfies readonly (readonly [number, Row])[]);

const BY_CODE: Readonly<Record<string, Row>> = {
  NO_FILE: ['schema_missing', 'There is no file of SQLite at this path.'],
  FILE_REPLACED: ['schema_missing', 'The file of SQLite was deleted or replaced. It is opened anew.'],
  NO_SQLITE: ['unsupported', `Node ${process.versions.node} has no node:sqlite.`],
  EXPIRED: ['timeout', 'SQLite was busy for too long.'],
  ENOENT: ['unreachable', 'The folder of the file of SQLite does not exist.', 'Create it.'],
  EACCES: ['permission', 'This process may not create the file of SQLite.'],
  EPERM: ['permission', 'This process may not create the file of SQLite.'],
  EROFS: ['read_only', 'The disk of the file of SQLite may only be read.'],
  ENOSPC: ['disk_full', 'The disk of the file of SQLite is full.'],
};

/** @param error what the thread rejected with */
export function describeSqliteError(error: unknown): StoreError {
  if (!(error instanceof SqliteFault)) return new StoreError('failed', 'SQLite has failed.');
  const { number, code, message } = error.failure;
  // SQLite has no code of its own for these.
  if (/^no such table: \w+_d\d+$/.test(message))
    return new StoreError('conflict', 'Another instance has dropped the table of a day.');
  if (/^no such table/.test(message))
    return new StoreError('schema_missing', 'The file of SQLite has no tables of express-task-monitor.');
  if (/^table .* already exists/.test(message))
    return new StoreError('conflict', 'Another instance has created the tables.');
  const row = BY_CODE[code] ?? BY_NUMBER.get(number & 0xff);
  if (row === undefined)
    return new StoreError('failed', `SQLite has failed with code ${number === 0 ? code : number}.`);
  return new StoreError(...row);
}
