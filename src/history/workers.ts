import type { Worker, WorkerStatus } from '../model.ts';
import type { WorkerChange } from './task-history.ts';

/** Celery's own default, used until a worker tells its interval. */
const DEFAULT_INTERVAL_MS = 2_000;
const GRACE_MS = 2_000;
const STALE_MS = 60_000;
const MISSING_MS = 5 * 60_000;

interface WorkerRecord {
  readonly hostname: string;
  /** When it was last heard of, by our clock. */
  heardAt: number;
  /** When it last said a heartbeat, by its own clock. */
  heartbeatAt: number | null;
  intervalMs: number;
  /** When its present process was first heard of, by its own clock. */
  bornAt: number;
  saidGoodbye: boolean;
  facts: Omit<WorkerChange, 'hostname' | 'type' | 'time'>;
}

/** The workers, known from what they say. */
export interface WorkerTable {
  readonly size: number;
  /** @returns whether the message is news for the feed (it came or went), and whether its status changed */
  record(change: WorkerChange): { isNews: boolean; isChanged: boolean };
  /** A message about a task counts as a sign of life. @returns whether the worker's status is another now */
  sign(hostname: string, heardAt: number): boolean;
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

  function known(hostname: string, time: number): WorkerRecord {
    let worker = workers.get(hostname);
    if (worker === undefined) {
      if (workers.size >= maxWorkers) forgetOldest();
      worker = {
        hostname,
        heardAt: now(),
        heartbeatAt: null,
        intervalMs: DEFAULT_INTERVAL_MS,
        bornAt: time,
        saidGoodbye: false,
        facts: {},
      };
      workers.set(hostname, worker);
    }
    return worker;
  }

  function forgetOldest(): void {
    let oldest: WorkerRecord | null = null;
    for (const worker of workers.values()) {
      if (oldest === null || worker.heardAt < oldest.heardAt) oldest = worker;
    }
    if (oldest !== null) drop(oldest);
  }

  function drop(worker: WorkerRecord): void {
    workers.delete(worker.hostname);
    if (last === worker) last = null;
  }

  function statusOf(worker: WorkerRecord): WorkerStatus {
    if (worker.saidGoodbye) return 'offline';
    const silent = now() - worker.heardAt;
    if (silent <= onlineMs(worker)) return 'online';
    return silent <= Math.max(STALE_MS, onlineMs(worker)) ? 'stale' : 'offline';
  }

  /** When the worker's status, or whether it is listed, next changes by the clock alone. */
  function nextChangeOf(worker: WorkerRecord): number {
    const stale = worker.heardAt + onlineMs(worker);
    const offline = Math.max(stale, worker.heardAt + STALE_MS);
    // Just after these moments, not at them.
    if (!worker.saidGoodbye && now() <= stale) return stale + 1;
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
      uptimeSeconds: facts.uptimeSeconds ?? null,
    };
  }

  function dropExpired(): void {
    for (const worker of workers.values()) {
      if (statusOf(worker) === 'offline' && now() - worker.heardAt > expiryMs)
        workers.delete(worker.hostname);
    }
  }

  return {
    get size() {
      return workers.size;
    },
    record(change) {
      const isKnown = workers.has(change.hostname);
      const worker = known(change.hostname, change.time);
      const before = isKnown ? statusOf(worker) : 'offline';
      // A message that was overtaken by a later one of the same worker tells nothing new.
      if (worker.heartbeatAt !== null && change.time < worker.heartbeatAt) {
        return { isNews: false, isChanged: false };
      }
      const repeated = worker.heartbeatAt === change.time && change.type !== 'heartbeat';
      const restarted = change.pid != null && worker.facts.pid != null && change.pid !== worker.facts.pid;
      if (restarted) worker.bornAt = change.time;
      worker.heardAt = now();
      worker.heartbeatAt = change.time;
      worker.saidGoodbye = change.type === 'offline';
      if (change.interval != null && change.interval > 0) worker.intervalMs = change.interval * 1000;
      worker.facts = restarted ? factsOf(change, {}) : factsOf(change, worker.facts);
      const isChanged = restarted || before !== statusOf(worker);
      return { isNews: change.type !== 'heartbeat' && (isChanged || !repeated), isChanged };
    },
    sign(hostname, heardAt) {
      // Messages of one worker come in bursts.
      if (last === null || last.hostname !== hostname) {
        const isNew = !workers.has(hostname);
        last = known(hostname, Number.NEGATIVE_INFINITY);
        if (isNew) return true;
      }
      const wasSilent = !last.saidGoodbye && heardAt - last.heardAt > onlineMs(last);
      last.heardAt = heardAt;
      return wasSilent;
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
        else if (!worker.saidGoodbye && now() - worker.heardAt < MISSING_MS) missing.push(worker.hostname);
      }
      return { responding: responding.sort(), missing: missing.sort() };
    },
    isLost(hostname, since) {
      const worker = workers.get(hostname);
      if (worker === undefined) return false;
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

/** How long a worker may be silent and count as online, in milliseconds. */
function onlineMs({ intervalMs }: WorkerRecord): number {
  return 2 * intervalMs + GRACE_MS;
}

/** What a message tells, over what was known before: a forced heartbeat leaves most fields out. */
function factsOf(change: WorkerChange, before: WorkerRecord['facts']): WorkerRecord['facts'] {
  const facts: Record<string, unknown> = { ...before };
  for (const [field, value] of Object.entries(change)) {
    if (value !== undefined && value !== null && !['hostname', 'type', 'time'].includes(field)) {
      facts[field] = value;
    }
  }
  return facts;
}
