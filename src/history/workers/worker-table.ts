/**
 * The workers of a deployment, known from their messages, and what they ran when they, or one of their processes, died
 * without a goodbye. Deaths follow the events of workers as they happen: a moment later, the broker may have given their
 * tasks to others.
 */
import type { Worker } from '../../model.ts';
import type { RunningTask, SilentWorker, WorkerDeath } from '../../source.ts';
import type { HeardWorker, TaskChange, WorkerChange, WorkerCheck } from '../history.ts';
import {
  applyChange,
  fromStored,
  isEvictedBefore,
  isExpired,
  isMissing,
  isOvertaken,
  mergeWorker,
  newWorker,
  nextChangeOf,
  onlineMs,
  type StoredWorker,
  soleQueueOf,
  statusOf,
  toStored,
  toWorker,
  type WorkerRecord,
} from './worker-record.ts';

/** The workers. */
export interface WorkerTable {
  size(): number;
  /** @returns whether the message belongs into the feed (the worker came or went), and whether its status changed */
  record(change: WorkerChange): { isNews: boolean; isChanged: boolean };
  /** A message about a task counts as a sign of life of its worker. @returns whether its status changed */
  sign(hostname: string, heardAt: number): boolean;
  /**
   * A stored message names a worker. Like any other, it gets time to send a message before its tasks are lost.
   *
   * @returns whether the worker was unknown
   */
  mention(hostname: string): boolean;
  /** A worker as it is kept; `null`: unknown. */
  read(hostname: string): StoredWorker | null;
  /**
   * Merges what an earlier process or another instance knew about a worker: the later value is used.
   *
   * @returns whether an answer about workers has changed, and whether its status or its birth has
   */
  absorb(worker: StoredWorker): { isNews: boolean; isChanged: boolean };
  /** A time (milliseconds) in which no message could arrive does not count as silence. */
  excuse(ms: number): void;
  list(): Worker[];
  check(): WorkerCheck;
  /** Workers that send messages. */
  heard(): HeardWorker[];
  /**
   * Whether a task will not be finished by its worker.
   *
   * @param since when the worker took it, by the worker's clock; NaN: unknown
   */
  isLost(hostname: string, since: number): boolean;
  /** Whether messages of a worker arrive in time. */
  isOnline(hostname: string): boolean;
  /** The queue of a worker that consumes from only one; `null`: from several, or unknown. */
  soleQueueOf(hostname: string): string | null;
  /** Workers that are offline and did not say goodbye. */
  silent(): SilentWorker[];
  /** The next time (milliseconds) at which a status changes by the clock alone; `Infinity`: never. */
  nextChange(): number;
  clear(): void;
}

/** The workers and the bounds of their number. */
interface WorkerState {
  readonly workers: Map<string, WorkerRecord>;
  readonly now: () => number;
  readonly clock: () => number;
  readonly maxWorkers: number;
  /** The worker of the last message about a task: such messages arrive in bursts of one worker. */
  last: WorkerRecord | null;
  /** The next workers to evict, last first, and when their last messages arrived. Found for many evictions at once. */
  oldest: { readonly worker: WorkerRecord; readonly heardAt: number }[];
  /** Whether a worker that was not offline had to be evicted, so that an unknown one may be alive. */
  hasEvicted: boolean;
}

/**
 * @param now milliseconds; stands still while the source is disconnected
 * @param clock milliseconds
 * @param maxWorkers if there are more, those silent for longest are evicted
 * @param expiryMs how long an offline worker is listed
 */
export function createWorkerTable(
  now: () => number,
  clock: () => number,
  maxWorkers: number,
  expiryMs: number,
): WorkerTable {
  const workers = new Map<string, WorkerRecord>();
  const state: WorkerState = { workers, now, clock, maxWorkers, last: null, oldest: [], hasEvicted: false };
  return {
    size: () => workers.size,
    record: (change) => record(state, change),
    sign: (hostname, heardAt) => sign(state, hostname, heardAt),
    mention(hostname) {
      if (workers.has(hostname)) return false;
      // It must not evict a worker that has sent messages.
      if (workers.size < maxWorkers) findOrAdd(state, hostname);
      else state.hasEvicted = true;
      return true;
    },
    read(hostname) {
      const worker = workers.get(hostname);
      return worker === undefined ? null : toStored(worker);
    },
    absorb: (worker) => absorb(state, worker, expiryMs),
    excuse(ms) {
      for (const worker of workers.values()) worker.heardAt = Math.min(worker.heardAt + ms, now() + ms);
    },
    list() {
      for (const worker of workers.values()) if (isExpired(worker, now(), expiryMs)) drop(state, worker);
      return [...workers.values()]
        .map((worker) => toWorker(worker, statusOf(worker, now())))
        .sort((a, b) => (a.hostname < b.hostname ? -1 : a.hostname > b.hostname ? 1 : 0));
    },
    check: () => check(state),
    heard: () => heardWorkers(workers.values(), now()),
    soleQueueOf: (hostname) => soleQueueOf(workers.get(hostname)),
    isLost(hostname, since) {
      const worker = workers.get(hostname);
      // An unknown one was silent for longer than offline workers are listed.
      if (worker === undefined) return !state.hasEvicted;
      return statusOf(worker, now()) === 'offline' || since < worker.bornAt;
    },
    isOnline(hostname) {
      const worker = workers.get(hostname);
      return worker !== undefined && statusOf(worker, now()) === 'online';
    },
    silent: () =>
      [...workers.values()].flatMap((worker) =>
        worker.isHeard && !worker.saidGoodbye && statusOf(worker, now()) === 'offline'
          ? { hostname: worker.hostname, heardAt: worker.heardAt }
          : [],
      ),
    nextChange() {
      let next = Number.POSITIVE_INFINITY;
      for (const worker of workers.values()) next = Math.min(next, nextChangeOf(worker, now(), expiryMs));
      return next;
    },
    clear() {
      workers.clear();
      state.last = null;
      state.oldest = [];
    },
  };
}

function record(state: WorkerState, change: WorkerChange): { isNews: boolean; isChanged: boolean } {
  const { workers, now, clock } = state;
  const isKnown = workers.has(change.hostname);
  const worker = findOrAdd(state, change.hostname);
  const before = isKnown ? statusOf(worker, now()) : 'offline';
  if (isOvertaken(worker, change)) return { isNews: false, isChanged: false };
  const isRepeated = worker.heartbeatAt === change.time && change.type !== 'heartbeat';
  const isReborn = applyChange(worker, change, now(), clock());
  const isChanged = isReborn || before !== statusOf(worker, now());
  const isEvent = change.type === 'online' || change.type === 'offline';
  return { isNews: isEvent && (isChanged || !isRepeated), isChanged };
}

function absorb(
  state: WorkerState,
  stored: StoredWorker,
  expiryMs: number,
): { isNews: boolean; isChanged: boolean } {
  const { workers, now } = state;
  const given = fromStored(stored);
  const known = workers.get(stored.hostname);
  if (given === null || (known === undefined && isExpired(given, now(), expiryMs))) return UNCHANGED;
  if (known !== undefined) {
    const [status, { bornAt }] = [statusOf(known, now()), known];
    if (!mergeWorker(known, given)) return UNCHANGED;
    return { isNews: true, isChanged: status !== statusOf(known, now()) || bornAt !== known.bornAt };
  }
  if (workers.size >= state.maxWorkers && !makeRoom(state, given)) return UNCHANGED;
  workers.set(given.hostname, given);
  return { isNews: true, isChanged: true };
}

const UNCHANGED = { isNews: false, isChanged: false };

/** Drops a worker for one with a later message. @returns whether there is one */
function makeRoom(state: WorkerState, { heardAt }: WorkerRecord): boolean {
  if (state.oldest.length === 0) findOldest(state);
  const next = nextOldest(state);
  if (next === null || next.heardAt >= heardAt) {
    if (next !== null) state.oldest.push({ worker: next, heardAt: next.heardAt });
    state.hasEvicted = true;
    return false;
  }
  state.oldest.push({ worker: next, heardAt: next.heardAt });
  evictOldest(state);
  return true;
}

function sign(state: WorkerState, hostname: string, heardAt: number): boolean {
  if (state.last === null || state.last.hostname !== hostname) state.last = findOrAdd(state, hostname);
  const worker = state.last;
  const wasSilent = !worker.isHeard || (!worker.saidGoodbye && heardAt - worker.heardAt > onlineMs(worker));
  worker.isHeard = true;
  worker.heardAt = heardAt;
  return wasSilent;
}

function check({ workers, now }: WorkerState): WorkerCheck {
  const responding: string[] = [];
  const missing: string[] = [];
  for (const worker of workers.values()) {
    if (statusOf(worker, now()) === 'online') responding.push(worker.hostname);
    else if (isMissing(worker, now())) missing.push(worker.hostname);
  }
  return { responding: responding.sort(), missing: missing.sort() };
}

function findOrAdd(state: WorkerState, hostname: string): WorkerRecord {
  const known = state.workers.get(hostname);
  if (known !== undefined) return known;
  if (state.workers.size >= state.maxWorkers) evictOldest(state);
  const worker = newWorker(hostname, state.now());
  state.workers.set(hostname, worker);
  return worker;
}

function evictOldest(state: WorkerState): void {
  let worker = nextOldest(state);
  if (worker === null) {
    findOldest(state);
    worker = nextOldest(state);
  }
  if (worker === null) return;
  if (statusOf(worker, state.now()) !== 'offline') state.hasEvicted = true;
  drop(state, worker);
}

/** The next worker to evict that has sent no message since it was found. */
function nextOldest({ workers, oldest }: WorkerState): WorkerRecord | null {
  for (let next = oldest.pop(); next !== undefined; next = oldest.pop()) {
    const { worker, heardAt } = next;
    if (workers.get(worker.hostname) === worker && worker.heardAt === heardAt) return worker;
  }
  return null;
}

/** A message of an invented worker must not cost a pass over all workers. */
function findOldest(state: WorkerState): void {
  const sorted = [...state.workers.values()].sort((a, b) =>
    isEvictedBefore(a, b) ? 1 : isEvictedBefore(b, a) ? -1 : 0,
  );
  const count = Math.ceil(sorted.length / 8);
  state.oldest = sorted.slice(-count).map((worker) => ({ worker, heardAt: worker.heardAt }));
}

function drop(state: WorkerState, worker: WorkerRecord): void {
  state.workers.delete(worker.hostname);
  if (state.last === worker) state.last = null;
}

/** Workers that send messages; the others are named by stored messages alone. @param now milliseconds */
function heardWorkers(workers: Iterable<WorkerRecord>, now: number): HeardWorker[] {
  return [...workers]
    .filter(({ isHeard }) => isHeard)
    .map(({ hostname, heardAt, saidGoodbye, facts }) => ({
      hostname,
      silentMs: now - heardAt,
      saidGoodbye,
      active: facts.active ?? null,
      queues: facts.queues ?? null,
      poolSize: facts.poolSize ?? null,
    }));
}

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
export type WorkerDeaths = ReturnType<typeof createWorkerDeaths>;

/** A worker that is followed. */
interface FollowedWorker {
  readonly running: Map<string, RunningTask>;
  pid: number | null;
  formerPid: number | null;
  /** Tasks that it has begun; `null`: not reported. */
  processed: number | null;
}

/** @returns no deaths yet */
export function createWorkerDeaths() {
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
    /** @param name of the task; `null`: unknown */
    task(change: TaskChange, name: string | null, now: number): void {
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
    worker(change: WorkerChange): void {
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
    /** Messages were missed: what workers run is not known any more. */
    gap(): void {
      for (const { running } of workers.values()) running.clear();
    },
    /** Those of the last day. @param silent workers that are offline and have not said goodbye */
    list(silent: readonly SilentWorker[], now: number): readonly WorkerDeath[] {
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
