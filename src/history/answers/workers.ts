import type { Worker, WorkerStatus } from '../../model.ts';
import type { WorkerChange } from '../history.ts';
import {
  factsOf,
  GRACE_MS,
  goesBefore,
  newWorker,
  onlineMs,
  takeBirth,
  type WorkerRecord,
} from './worker-record.ts';

const STALE_MS = 60_000;
const MISSING_MS = 5 * 60_000;

/** The workers, known from what they say. */
export interface WorkerTable {
  readonly size: number;
  /** @returns whether the message is news for the feed (it came or went), and whether its status changed */
  record(change: WorkerChange): { isNews: boolean; isChanged: boolean };
  /** A message about a task counts as a sign of life. @returns whether the worker's status is another now */
  sign(hostname: string, heardAt: number): boolean;
  /**
   * A stored message names it: it is given the time that any worker has to be heard, before its tasks
   * count as lost. @returns whether it is new
   */
  mention(hostname: string): boolean;
  /** A time, in milliseconds, in which no worker could be heard does not count as silence. */
  excuse(ms: number): void;
  list(): Worker[];
  check(): { responding: string[]; missing: string[] };
  /** Whether a task that this worker took at that moment (its clock, NaN: unknown) will not be finished by it. */
  isLost(hostname: string, since: number): boolean;
  /** The next moment, in milliseconds, at which a status changes by the clock alone; Infinity: never. */
  nextChange(): number;
  clear(): void;
}

/**
 * @param now milliseconds; stands still while the source is cut off
 * @param maxWorkers of more, the ones silent for longest are forgotten
 * @param expiryMs how long an offline worker stays listed
 */
export function createWorkerTable(now: () => number, maxWorkers: number, expiryMs: number): WorkerTable {
  const workers = new Map<string, WorkerRecord>();
  let last: WorkerRecord | null = null;
  /** Some were forgotten for want of room, so that one that is not known may well be alive. */
  let hasForgotten = false;

  function known(hostname: string): WorkerRecord {
    let worker = workers.get(hostname);
    if (worker === undefined) {
      if (workers.size >= maxWorkers) forgetOldest();
      worker = newWorker(hostname, now());
      workers.set(hostname, worker);
    }
    return worker;
  }

  function forgetOldest(): void {
    let oldest: WorkerRecord | null = null;
    for (const worker of workers.values()) if (oldest === null || goesBefore(worker, oldest)) oldest = worker;
    if (oldest === null) return;
    if (statusOf(oldest) !== 'offline') hasForgotten = true;
    drop(oldest);
  }

  function drop(worker: WorkerRecord): void {
    workers.delete(worker.hostname);
    if (last === worker) last = null;
  }

  function statusOf(worker: WorkerRecord): WorkerStatus {
    if (worker.saidGoodbye) return 'offline';
    const silent = now() - worker.heardAt;
    if (worker.isHeard && silent <= onlineMs(worker)) return 'online';
    return silent <= Math.max(STALE_MS, onlineMs(worker)) ? 'stale' : 'offline';
  }

  /** When the worker's status, or whether it is listed, next changes by the clock alone. */
  function nextChangeOf(worker: WorkerRecord): number {
    const stale = worker.heardAt + onlineMs(worker);
    const offline = Math.max(stale, worker.heardAt + STALE_MS);
    // Just after these moments, not at them.
    if (worker.isHeard && !worker.saidGoodbye && now() <= stale) return stale + 1;
    if (!worker.saidGoodbye && now() <= offline) return offline + 1;
    return worker.heardAt + expiryMs + 1;
  }

  function show(worker: WorkerRecord): Worker {
    const { facts } = worker;
    return {
      hostname: worker.hostname,
      status: statusOf(worker),
      lastHeartbeat: worker.heartbeatAt === null ? null : new Date(worker.heartbeatAt),
      pid: facts.pid ?? null,
      pool: facts.pool ?? null,
      poolSize: facts.poolSize ?? null,
      concurrency: facts.concurrency ?? null,
      active: facts.active ?? null,
      processed: facts.processed ?? null,
      registeredTasks: facts.registeredTasks ?? null,
      queues: facts.queues ?? null,
      software: facts.software ?? null,
      loadAverage: facts.loadAverage ?? null,
      // As it was told last: one that counts on would make every answer a new one.
      uptimeSeconds: facts.uptimeSeconds == null ? null : Math.floor(facts.uptimeSeconds),
    };
  }

  function dropExpired(): void {
    for (const worker of workers.values()) {
      if (statusOf(worker) === 'offline' && now() - worker.heardAt > expiryMs) drop(worker);
    }
  }

  return {
    get size() {
      return workers.size;
    },
    record(change) {
      const isKnown = workers.has(change.hostname);
      const worker = known(change.hostname);
      const before = isKnown ? statusOf(worker) : 'offline';
      const isReply = change.type === 'reply';
      // A message that was overtaken by a later one of the same worker tells nothing new.
      if (!isReply && worker.heartbeatAt !== null && change.time < worker.heartbeatAt) {
        return { isNews: false, isChanged: false };
      }
      const repeated = worker.heartbeatAt === change.time && change.type !== 'heartbeat';
      const isOther = change.pid != null && worker.facts.pid != null && change.pid !== worker.facts.pid;
      const isReborn = takeBirth(worker, change, isOther);
      // What it answered before it went may come behind its goodbye.
      const isLate = isReply && worker.saidGoodbye && now() - worker.heardAt < GRACE_MS;
      worker.isHeard = true;
      if (!isLate) {
        worker.heardAt = now();
        worker.saidGoodbye = change.type === 'offline';
      }
      if (!isReply) worker.heartbeatAt = change.time;
      if (change.interval != null && change.interval > 0) worker.intervalMs = change.interval * 1000;
      worker.facts = factsOf(change, isOther ? {} : worker.facts);
      const isChanged = isReborn || before !== statusOf(worker);
      const isEvent = change.type === 'online' || change.type === 'offline';
      return { isNews: isEvent && (isChanged || !repeated), isChanged };
    },
    sign(hostname, heardAt) {
      // Messages of one worker come in bursts.
      if (last === null || last.hostname !== hostname) last = known(hostname);
      const wasSilent = !last.isHeard || (!last.saidGoodbye && heardAt - last.heardAt > onlineMs(last));
      last.isHeard = true;
      last.heardAt = heardAt;
      return wasSilent;
    },
    mention(hostname) {
      if (workers.has(hostname)) return false;
      // It must not push out one that was heard.
      if (workers.size < maxWorkers) known(hostname);
      else hasForgotten = true;
      return true;
    },
    excuse(ms) {
      for (const worker of workers.values()) worker.heardAt = Math.min(worker.heardAt + ms, now() + ms);
    },
    list() {
      dropExpired();
      return [...workers.values()]
        .map(show)
        .sort((a, b) => (a.hostname < b.hostname ? -1 : a.hostname > b.hostname ? 1 : 0));
    },
    check() {
      const responding: string[] = [];
      const missing: string[] = [];
      for (const worker of workers.values()) {
        if (statusOf(worker) === 'online') responding.push(worker.hostname);
        // One that is known only from what was read may have gone long ago.
        else if (worker.isHeard && !worker.saidGoodbye && now() - worker.heardAt < MISSING_MS) {
          missing.push(worker.hostname);
        }
      }
      return { responding: responding.sort(), missing: missing.sort() };
    },
    isLost(hostname, since) {
      const worker = workers.get(hostname);
      // Not listed any more: it was silent for longer than workers stay listed.
      if (worker === undefined) return !hasForgotten;
      return statusOf(worker) === 'offline' || since < worker.bornAt;
    },
    nextChange() {
      let next = Number.POSITIVE_INFINITY;
      for (const worker of workers.values()) next = Math.min(next, nextChangeOf(worker));
      return next;
    },
    clear() {
      workers.clear();
      last = null;
    },
  };
}
