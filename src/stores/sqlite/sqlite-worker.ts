/**
 * The main thread's interface to a thread with SQLite: the thread starts with the first request, and again after it has
 * ended.
 */
import { Worker } from 'node:worker_threads';
import { type SqlRow, StoreError } from '../sql/sql-database.ts';
import type {
  SqliteFailure,
  SqliteReply,
  SqliteRequest,
  SqliteThreadData,
  SqliteWork,
} from './sqlite-protocol.ts';

/** A thread that processes one request after another. */
export interface SqliteWorker {
  /** @param ms longest wait for the answer, in milliseconds */
  ask(work: SqliteWork, ms: number): Promise<readonly SqlRow[]>;
  /** Ends the thread after it has answered all requests. */
  close(): Promise<void>;
}

/** The error of SQLite or Node. */
export class SqliteFault extends Error {
  readonly failure: SqliteFailure;

  constructor(failure: SqliteFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

interface Waiting {
  readonly resolve: (rows: readonly SqlRow[]) => void;
  readonly reject: (error: Error) => void;
}

/** A thread that runs, and the requests that it has not answered. */
interface Running {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
}

/** Most requests that wait for an answer. */
const MOST_WAITING = 500;
/** How long the thread may take to end, in milliseconds. */
const CLOSE_MS = 2_000;

/** @param program of the thread */
export function createSqliteWorker(data: SqliteThreadData, program: URL): SqliteWorker {
  let running: Running | null = null;
  let last = 0;

  function start(): Running {
    const started: Running = { worker: new Worker(program, { workerData: data }), waiting: new Map() };
    const { worker, waiting } = started;
    worker.unref();
    worker.on('message', (reply: SqliteReply) => {
      const asked = waiting.get(reply.id);
      waiting.delete(reply.id);
      if (waiting.size === 0) worker.unref();
      if ('failure' in reply) asked?.reject(new SqliteFault(reply.failure));
      else asked?.resolve(reply.rows);
    });
    const fail = (reason: string): void => {
      if (running === started) running = null;
      for (const { reject } of waiting.values()) reject(new StoreError('failed', reason));
      waiting.clear();
    };
    worker.on('error', (error) => fail(`The SQLite thread has failed: ${error.name}.`));
    worker.on('exit', () => fail('The SQLite thread has ended. It is started again.'));
    return started;
  }

  function ask(work: SqliteWork, ms: number): Promise<readonly SqlRow[]> {
    running ??= start();
    const { worker, waiting } = running;
    if (waiting.size >= MOST_WAITING)
      return Promise.reject(new StoreError('overloaded', `${MOST_WAITING} requests wait for SQLite.`));
    const request: SqliteRequest = { id: ++last, work, expiresAt: Date.now() + ms };
    return new Promise((resolve, reject) => {
      waiting.set(request.id, { resolve, reject });
      worker.ref();
      worker.postMessage(request);
    });
  }

  return {
    ask,
    async close() {
      const ending = running;
      if (ending === null) return;
      const closed = ask({ kind: 'close' }, CLOSE_MS);
      // Later requests start another thread.
      running = null;
      const ended = new Promise((resolve) => ending.worker.once('exit', resolve));
      const timer = setTimeout(() => void ending.worker.terminate(), CLOSE_MS);
      await Promise.allSettled([closed, ended]);
      clearTimeout(timer);
    },
  };
}
