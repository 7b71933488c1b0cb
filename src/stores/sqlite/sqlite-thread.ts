/** The thread in which SQLite runs: a batch would hold up the host's event loop for 0.1 s. */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { SqlField, SqlRow } from '../sql/sql-database.ts';
import type {
  SqliteFailure,
  SqliteReply,
  SqliteRequest,
  SqliteThreadData,
  SqliteWork,
} from './sqlite-protocol.ts';

/** The part of `node:sqlite` that is used: newer versions of Node call the class `Database`. */
interface SqliteStatement {
  all(...values: SqlField[]): SqliteRow[];
  setReadBigInts(isOn: boolean): void;
}
type SqliteRow = Readonly<Record<string, SqlField | bigint>>;
type SqliteQuery = Extract<SqliteWork, { readonly kind: 'query' }>;
interface SqliteDatabase {
  exec(text: string): void;
  prepare(text: string): SqliteStatement;
  close(): void;
}
type SqliteClass = new (path: string, options: { readonly timeout: number }) => SqliteDatabase;

/** An open file. */
interface OpenFile {
  readonly database: SqliteDatabase;
  /** Shows whether the path still leads to it. */
  readonly inode: number;
  readonly statements: Map<string, SqliteStatement>;
}

/** How long a write waits for another process, in milliseconds. */
const BUSY_MS = 3_000;
/** Most prepared statements that are kept. */
const MOST_STATEMENTS = 100;

// A crash of the process loses nothing; a crash of the machine may lose the last writes. The log of a long transaction
// is cut back afterwards.
const SETTINGS =
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864';

const { path, writes } = workerData as SqliteThreadData;
let file: OpenFile | null = null;

/** @param mayCreate an empty file is created if there is none, which only this user may read */
function open(mayCreate: boolean): OpenFile {
  const sqlite = process.getBuiltinModule('node:sqlite') as unknown as
    | Record<string, SqliteClass | undefined>
    | undefined;
  const Database = sqlite?.DatabaseSync ?? sqlite?.Database;
  if (Database === undefined) throw fault('NO_SQLITE');
  if (inodeOf(path) === null) {
    if (!mayCreate) throw fault('NO_FILE');
    closeSync(openSync(path, 'a', 0o600));
  }
  const inode = inodeOf(path) ?? 0;
  const database = new Database(path, { timeout: BUSY_MS });
  try {
    database.exec(SETTINGS);
  } catch (error) {
    database.close();
    throw error;
  }
  if (writes) takeFromOthers();
  return { database, inode, statements: new Map() };
}

/** A file that exists may have been created with rights for everybody. Its group keeps what it has. */
function takeFromOthers(): void {
  for (const end of ['', '-wal', '-shm']) {
    const mode = statSync(path + end, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o007) === 0) continue;
    try {
      chmodSync(path + end, mode & 0o770);
    } catch {
      // It belongs to another user.
    }
  }
}

function inodeOf(name: string): number | null {
  return statSync(name, { throwIfNoEntry: false })?.ino ?? null;
}

function close(): void {
  const closing = file;
  file = null;
  closing?.statements.clear();
  closing?.database.close();
}

/** @throws an error whose code is one of {@link SqliteFailure} */
function run(work: SqliteWork): SqlRow[] {
  if (work.kind === 'close') {
    close();
    return [];
  }
  // A file that was deleted or replaced can still be written, but not found again.
  if (file !== null && inodeOf(path) !== file.inode) {
    close();
    throw fault('FILE_REPLACED');
  }
  file ??= open(work.kind === 'script');
  const { database } = file;
  if (work.kind === 'script') {
    inTransaction(database, () => database.exec(work.text));
    return [];
  }
  const statement = prepared(file, work.text);
  if (work.kind === 'query') return valuesOf(allRows(statement, work));
  return inTransaction(database, () => work.rows.flatMap((row) => valuesOf(statement.all(...row))));
}

/** Node refuses integers that a number cannot hold. The store writes none, but somebody else may have. */
function allRows(statement: SqliteStatement, { text, values }: SqliteQuery): SqliteRow[] {
  try {
    return statement.all(...values);
  } catch (error) {
    if (failureOf(error).code !== 'ERR_OUT_OF_RANGE' || !text.startsWith('SELECT')) throw error;
  }
  statement.setReadBigInts(true);
  try {
    return statement.all(...values);
  } finally {
    statement.setReadBigInts(false);
  }
}

function prepared({ database, statements }: OpenFile, text: string): SqliteStatement {
  const statement = statements.get(text) ?? database.prepare(text);
  statements.set(text, statement);
  if (statements.size > MOST_STATEMENTS) statements.delete(statements.keys().next().value ?? '');
  return statement;
}

function valuesOf(rows: readonly SqliteRow[]): SqlRow[] {
  return rows.map((row) =>
    Object.values(row).map((value) => (typeof value === 'bigint' ? Number(value) : value)),
  );
}

function inTransaction<Result>(database: SqliteDatabase, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    try {
      database.exec('ROLLBACK');
    } catch {
      // SQLite has already rolled back.
    }
    throw error;
  }
}

function fault(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function failureOf(error: unknown): SqliteFailure {
  const { errcode, code, message } = error as { errcode?: unknown; code?: unknown; message?: unknown };
  return { number: Number(errcode ?? 0), code: String(code ?? ''), message: String(message ?? error) };
}

function answer({ id, work, expiresAt }: SqliteRequest): SqliteReply {
  try {
    if (Date.now() > expiresAt) throw fault('EXPIRED');
    return { id, rows: run(work) };
  } catch (error) {
    return { id, failure: failureOf(error) };
  }
}

// Node 22 prints that its SQLite is experimental, for each thread.
process.removeAllListeners('warning');
parentPort?.on('message', (request: SqliteRequest) => {
  parentPort?.postMessage(answer(request));
  if (request.work.kind === 'close') parentPort?.close();
});
