/** Failures of SQLite as failures of the store. */
import { StoreError, type StoreErrorCode } from '../sql/store-error.ts';
import { SqliteFault } from './sqlite-worker.ts';

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
