/** The thread in which SQLite runs: a batch would hold up the host's event loop for 0.1 s. */
import { parentPort, workerData } from 'node:worker_threads';
import type { SqlRow } from '../sql/sql-database.ts';
import type { SqliteRequest } from './sqlite-protocol.ts';

/** As much of `node:sqlite` as is used: newer versions of Node call the class `Database`. */
interface SqliteStatement {
  all(named: Record<string, string | number | null>): SqlRow[];
}
interface SqliteDatabase {
  exec(text: string): void;
  prepare(text: string): SqliteStatement;
  close(): void;
}
type SqliteClass = new (path: string, options: { readonly timeout: number }) => SqliteDatabase;

/** How long a write waits for another process, in milliseconds. */
const BUSY_MS = 5_000;

function open(path: string): SqliteDatabase {
  const sqlite = (process.getBuiltinModule('node:sqlite') ?? {}) as Record<string, SqliteClass | undefined>;
  const Database = sqlite.DatabaseSync ?? sqlite.Database;
  if (Database === undefined) throw new Error('node:sqlite has no class for databases.');
  const database = new Database(path, { timeout: BUSY_MS });
  // Several processes may read while one writes. A crash of the process loses nothing, one of the machine
  // may lose the last writes.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000');
  return database;
}

function named(values: readonly (string | number | null)[]): Record<string, string | number | null> {
  return Object.fromEntries(values.map((value, at) => [`$${at + 1}`, value]));
}

function inTransaction<Result>(database: SqliteDatabase, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function answer(
  database: SqliteDatabase,
  statements: Map<string, SqliteStatement>,
  request: SqliteRequest,
): SqlRow[] {
  const { kind, text } = request;
  if (kind === 'script') {
    inTransaction(database, () => database.exec(text));
    return [];
  }
  const statement = statements.get(text) ?? database.prepare(text);
  statements.set(text, statement);
  if (statements.size > MOST_STATEMENTS) statements.delete(statements.keys().next().value ?? '');
  if (kind === 'query') return statement.all(named(request.values));
  return inTransaction(database, () => request.rows.flatMap((row) => statement.all(named(row))));
}

/** Most prepared statements that are kept. */
const MOST_STATEMENTS = 100;

function main(): void {
  const port = parentPort;
  if (port === null) return;
  const statements = new Map<string, SqliteStatement>();
  let database: SqliteDatabase | null = null;
  port.on('message', (request: SqliteRequest) => {
    try {
      database ??= open(String(workerData));
      port.postMessage({ id: request.id, rows: answer(database, statements, request) });
    } catch (error) {
      port.postMessage({ id: request.id, error: messageOf(error) });
    }
  });
  port.on('close', () => database?.close());
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

main();
