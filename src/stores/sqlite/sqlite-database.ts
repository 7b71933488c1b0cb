import { Worker } from 'node:worker_threads';
import type { SqlDatabase, SqlRow, SqlValue } from '../sql/sql-database.ts';
import { SQLITE } from './sqlite-dialect.ts';
import type { SqliteReply, SqliteRequest } from './sqlite-protocol.ts';

interface Waiting {
  readonly resolve: (rows: readonly SqlRow[]) => void;
  readonly reject: (error: Error) => void;
}

/** `Omit` of each member of a union. */
type Without<Request, Key extends string> = Request extends unknown ? Omit<Request, Key> : never;

/**
 * SQLite in a thread of its own.
 *
 * @param path of the file, which is made if there is none
 * @param thread the program of the thread
 */
export function createSqliteDatabase(path: string, thread: URL): SqlDatabase {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let worker: Worker | null = null;

  function fail(error: Error): void {
    worker = null;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  function start(): Worker {
    const started = new Worker(thread, { workerData: path });
    started.unref();
    started.on('message', (reply: SqliteReply) => {
      const asked = waiting.get(reply.id);
      waiting.delete(reply.id);
      if (waiting.size === 0) started.unref();
      if ('error' in reply) asked?.reject(new Error(reply.error));
      else asked?.resolve(reply.rows);
    });
    started.on('error', fail);
    started.on('exit', () => fail(new Error('The thread of SQLite has ended.')));
    return started;
  }

  function ask(request: Without<SqliteRequest, 'id'>): Promise<readonly SqlRow[]> {
    worker ??= start();
    const id = ++last;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      worker?.ref();
      worker?.postMessage({ ...request, id });
    });
  }

  return {
    dialect: SQLITE,
    query: (text, values = []) => ask({ kind: 'query', text, values: values.map(bound) }),
    insert({ into, columns, tail }, values) {
      const names = columns.map(([name]) => name).join(', ');
      const places = columns.map((_, at) => `$${at + 1}`).join(', ');
      const text = `INSERT INTO ${into} (${names}) VALUES (${places}) ${tail}`;
      const rows = (values[0] ?? []).map((_, row) => values.map((column) => column[row] ?? null));
      return ask({ kind: 'insert', text, rows });
    },
    script: async (text) => void (await ask({ kind: 'script', text })),
    close: async () => void (await worker?.terminate()),
  };
}

/** An array is bound as JSON, which `json_each` reads. */
function bound(value: SqlValue): string | number | null {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
