/**
 * What workers ran when they, or one of their processes, died without a goodbye. It follows the events of workers as they
 * happen: a moment later, the broker may have given their tasks to others.
 */
import type { RunningTask, SilentWorker, WorkerDeath } from '../../source.ts';
import type { TaskChange, WorkerChange } from '../history.ts';

/** For how long a death is remembered, in milliseconds, and how many are. */
const LISTED_MS = 24 * 60 * 60_000;
const MOST_DEATHS = 200;
/** Most workers, and most running tasks of one, that are followed. */
const MOST_WORKERS = 1_000;
const MOST_RUNNING = 1_000;
const MOST_NAMED = 20;

/** A process of the pool ended by itself, or by a signal. A shutdown ends them with SIGTERM (15). */
const KILLED = /^WorkerLostError\b(?!.*signal 15\b)/s;

/** The deaths. Only messages that are received as they happen count. */
export interface WorkerDeaths {
  /** @param name of the task; `null`: unknown */
  task(change: TaskChange, name: string | null, now: number): void;
  worker(change: WorkerChange): void;
  /** Messages were missed: what workers run is not known any more. */
  gap(): void;
  /** Those of the last day. @param silent workers that are offline and have not said goodbye */
  list(silent: readonly SilentWorker[], now: number): readonly WorkerDeath[];
}

/** A worker that is followed. */
interface FollowedWorker {
  readonly running: Map<string, RunningTask>;
  pid: number | null;
  formerPid: number | null;
  /** Tasks that it has begun; `null`: not reported. */
  processed: number | null;
}

/** @returns no deaths yet */
export function createWorkerDeaths(): WorkerDeaths {
  const workers = new Map<string, FollowedWorker>();
  let deaths: WorkerDeath[] = [];

  function follow(hostname: string): FollowedWorker {
    const known = workers.get(hostname);
    if (known !== undefined) return known;
    const [first] = workers.keys();
    if (workers.size >= MOST_WORKERS && first !== undefined) workers.delete(first);
    const added = { running: new Map(), pid: null, formerPid: null, processed: null };
    workers.set(hostname, added);
    return added;
  }

  function add(at: number, worker: string, running: readonly RunningTask[]): void {
    if (running.length > 0) deaths.push({ at, worker, running: running.slice(0, MOST_NAMED) });
    if (deaths.length > MOST_DEATHS) deaths.shift();
  }

  function die(at: number, hostname: string, { running }: FollowedWorker): void {
    add(at, hostname, [...running.values()]);
    running.clear();
  }

  return {
    task(change, name, now) {
      const { id, type, worker, exception } = change;
      if (worker == null || UNFINISHED.has(type)) return;
      const at = change.time ?? now;
      const { running } = follow(worker);
      const task = running.get(id);
      running.delete(id);
      if (type === 'started') {
        if (running.size < MOST_RUNNING) running.set(id, { id, name, worker, startedAt: at });
        return;
      }
      // Celery reports the failure of a killed task twice.
      if (type === 'failed' && task !== undefined && KILLED.test(exception ?? '')) add(at, worker, [task]);
    },
    worker(change) {
      const { hostname, type, time, active, processed } = change;
      if (type === 'offline') {
        workers.delete(hostname);
        return;
      }
      const worker = follow(hostname);
      if (isOther(worker, change)) die(time, hostname, worker);
      if (change.pid != null && change.pid !== worker.pid) {
        worker.formerPid = worker.pid;
        worker.pid = change.pid;
      }
      worker.processed = processed ?? worker.processed;
      if (type !== 'heartbeat' || active == null) return;
      // The end of a task that it no longer runs was not reported.
      for (const id of worker.running.keys()) if (worker.running.size > active) worker.running.delete(id);
    },
    gap() {
      for (const { running } of workers.values()) running.clear();
    },
    list(silent, now) {
      for (const { hostname, heardAt } of silent) {
        const worker = workers.get(hostname);
        if (worker !== undefined) die(heardAt, hostname, worker);
      }
      deaths = deaths.filter(({ at }) => now - at < LISTED_MS);
      return [...deaths];
    },
  };
}

const UNFINISHED: ReadonlySet<TaskChange['type']> = new Set(['sent', 'received', 'custom']);

/**
 * Whether a message is of another process than those before. In a container, it may have the same id. Two processes that
 * use one name at the same time take turns.
 */
function isOther({ pid, formerPid, processed }: FollowedWorker, change: WorkerChange): boolean {
  if (pid !== null && change.pid != null && change.pid !== pid) return change.pid !== formerPid;
  return change.type === 'online' && change.processed === 0 && (processed ?? 0) > 0;
}
