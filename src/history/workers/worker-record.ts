/** The data about one worker, and how its messages change it. */
import type { Worker, WorkerStatus } from '../../model.ts';
import { isRecord } from '../../values.ts';
import { isName } from '../changes.ts';
import type { WorkerChange } from '../history.ts';

/** Celery's own default, used until a worker reports its interval. */
const DEFAULT_INTERVAL_MS = 2_000;
/** How late a message of a worker may arrive. */
const GRACE_MS = 2_000;
/** How far a reported uptime may be off: it is rounded, and the worker's clock is not ours. */
const BIRTH_MARGIN_MS = 2_000;

/** One worker. Times in milliseconds. */
export interface WorkerRecord {
  readonly hostname: string;
  /** When its last message arrived, by our clock; without any message, when it became known. */
  heardAt: number;
  /** False while it is known only from stored messages. */
  isHeard: boolean;
  /** Its last heartbeat, by its own clock. */
  heartbeatAt: number | null;
  intervalMs: number;
  /** How far its clock is ahead of ours, by its last message; the delay of the message lowers it. */
  clockAheadMs: number;
  /** The earliest time, by its own clock, at which its present process can have existed. */
  bornAt: number;
  saidGoodbye: boolean;
  facts: Omit<WorkerChange, 'hostname' | 'type' | 'time'>;
}

/** A worker as it is kept. It survives JSON. */
export interface StoredWorker extends Readonly<Omit<WorkerRecord, 'bornAt'>> {
  /** `null`: unknown. */
  readonly bornAt: number | null;
}

/** @param knownAt when it became known */
export function newWorker(hostname: string, knownAt: number): WorkerRecord {
  return {
    hostname,
    heardAt: knownAt,
    isHeard: false,
    heartbeatAt: null,
    intervalMs: DEFAULT_INTERVAL_MS,
    clockAheadMs: 0,
    bornAt: Number.NEGATIVE_INFINITY,
    saidGoodbye: false,
    facts: {},
  };
}

/** How long a silent worker counts as online, in milliseconds. */
export function onlineMs({ intervalMs }: WorkerRecord): number {
  return 2 * intervalMs + GRACE_MS;
}

/** The queue of a worker that consumes from only one; `null`: from several, or unknown. */
export function soleQueueOf(worker: WorkerRecord | undefined): string | null {
  const queues = worker?.facts.queues ?? [];
  return queues.length === 1 ? (queues[0] ?? null) : null;
}

/** Whether the first is evicted before the second. */
export function isEvictedBefore(one: WorkerRecord, other: WorkerRecord): boolean {
  return one.isHeard === other.isHeard ? one.heardAt < other.heardAt : !one.isHeard;
}

/** Whether a message was overtaken by a later one of the same worker; replies carry no time of its clock. */
export function isOvertaken({ heartbeatAt }: WorkerRecord, { type, time }: WorkerChange): boolean {
  return type !== 'reply' && heartbeatAt !== null && time < heartbeatAt;
}

/**
 * Applies a message.
 *
 * @param now milliseconds; stands still while the source is disconnected
 * @param arrivedAt milliseconds
 * @returns whether tasks that the worker took before are lost now, since its process is another
 */
export function applyChange(
  worker: WorkerRecord,
  change: WorkerChange,
  now: number,
  arrivedAt: number,
): boolean {
  const isReply = change.type === 'reply';
  if (!isReply) worker.clockAheadMs = change.time - arrivedAt;
  const isOther = change.pid != null && worker.facts.pid != null && change.pid !== worker.facts.pid;
  const isReborn = updateBirth(worker, change, isOther);
  // A reply sent before the goodbye may arrive after it.
  const isLate = isReply && worker.saidGoodbye && now - worker.heardAt < GRACE_MS;
  worker.isHeard = true;
  if (!isLate) {
    worker.heardAt = now;
    worker.saidGoodbye = change.type === 'offline';
  }
  if (!isReply) worker.heartbeatAt = change.time;
  if (change.interval != null && change.interval > 0) worker.intervalMs = change.interval * 1000;
  worker.facts = mergeFacts(change, isOther ? {} : worker.facts);
  return isReborn;
}

/**
 * Finds out since when the present process of a worker has existed.
 *
 * @param isOther whether it is another process than before
 * @returns whether tasks that it took before are lost now
 */
function updateBirth(worker: WorkerRecord, change: WorkerChange, isOther: boolean): boolean {
  const { type, time, uptimeSeconds, processed } = change;
  let bornAt = Number.NEGATIVE_INFINITY;
  // The time of a reply is by our clock.
  const askedAt = type === 'reply' ? time + worker.clockAheadMs : time;
  if (uptimeSeconds != null) bornAt = askedAt - uptimeSeconds * 1_000 - BIRTH_MARGIN_MS;
  // A process that comes online without having run a task has taken none of the known tasks.
  else if (type === 'online' && (isOther || (worker.facts.pid == null && processed === 0))) bornAt = time;
  else if (isOther) bornAt = worker.heartbeatAt ?? bornAt;
  // Reported uptimes differ by their rounding.
  if (bornAt <= worker.bornAt + (isOther ? 0 : BIRTH_MARGIN_MS)) return isOther;
  worker.bornAt = bornAt;
  return true;
}

/** The fields of a message over those known before, since a forced heartbeat leaves most of them out. */
function mergeFacts(change: WorkerChange, before: WorkerRecord['facts']): WorkerRecord['facts'] {
  const { hostname: _hostname, type: _type, time: _time, ...fields } = change;
  const reported = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return { ...before, ...Object.fromEntries(reported) };
}

/** The worker as it is shown. */
export function toWorker({ hostname, heartbeatAt, facts }: WorkerRecord, status: WorkerStatus): Worker {
  return {
    hostname,
    status,
    lastHeartbeat: heartbeatAt === null ? null : new Date(heartbeatAt),
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
    // As last reported: a running count would change every answer.
    uptimeSeconds: facts.uptimeSeconds == null ? null : Math.floor(facts.uptimeSeconds),
    rateLimits: facts.rateLimits ?? null,
  };
}

/** How long a worker may be silent before it counts as offline, at least. */
const STALE_MS = 60_000;
/** How long a silent worker is reported as missing. */
const MISSING_MS = 5 * 60_000;

/** Online while its messages arrive in time, then stale, then offline; offline at once after a goodbye. */
export function statusOf(worker: WorkerRecord, now: number): WorkerStatus {
  if (worker.saidGoodbye) return 'offline';
  const silent = now - worker.heardAt;
  if (worker.isHeard && silent <= onlineMs(worker)) return 'online';
  return silent <= Math.max(STALE_MS, onlineMs(worker)) ? 'stale' : 'offline';
}

/** Whether it went silent without a goodbye a short while ago. */
export function isMissing(worker: WorkerRecord, now: number): boolean {
  // A worker known only from stored messages may have gone long ago.
  return worker.isHeard && !worker.saidGoodbye && now - worker.heardAt < MISSING_MS;
}

/** Whether an offline worker is no longer listed. @param expiryMs how long it is */
export function isExpired(worker: WorkerRecord, now: number, expiryMs: number): boolean {
  return statusOf(worker, now) === 'offline' && now - worker.heardAt > expiryMs;
}

/** The next time at which its status, or whether it is listed, changes by the clock alone. */
export function nextChangeOf(worker: WorkerRecord, now: number, expiryMs: number): number {
  const stale = worker.heardAt + onlineMs(worker);
  const offline = Math.max(stale, worker.heardAt + STALE_MS);
  // Just after these times, not at them.
  if (worker.isHeard && !worker.saidGoodbye && now <= stale) return stale + 1;
  if (!worker.saidGoodbye && now <= offline) return offline + 1;
  return worker.heardAt + expiryMs + 1;
}

/** @returns a copy that survives JSON */
export function toStored(worker: WorkerRecord): StoredWorker {
  const { bornAt, facts } = worker;
  return { ...worker, facts: { ...facts }, bornAt: Number.isFinite(bornAt) ? bornAt : null };
}

/** @returns a record of its own; `null` if it is not a worker */
export function fromStored(stored: StoredWorker): WorkerRecord | null {
  const { hostname, heardAt, isHeard, heartbeatAt, intervalMs, clockAheadMs, bornAt, saidGoodbye, facts } =
    stored;
  const times = [heardAt, intervalMs, clockAheadMs, heartbeatAt ?? 0, bornAt ?? 0];
  if (!isName(hostname) || !times.every(Number.isFinite) || !isRecord(facts)) return null;
  return {
    hostname,
    heardAt,
    isHeard,
    heartbeatAt,
    intervalMs,
    clockAheadMs,
    saidGoodbye,
    bornAt: bornAt ?? Number.NEGATIVE_INFINITY,
    facts: { ...facts },
  };
}

/**
 * Merges what another instance knows about a worker: for each field, the later value.
 *
 * @returns whether anything has changed
 */
export function mergeWorker(known: WorkerRecord, given: WorkerRecord): boolean {
  const isLater = given.isHeard && (!known.isHeard || given.heardAt > known.heardAt);
  const isBeat = (given.heartbeatAt ?? 0) > (known.heartbeatAt ?? 0);
  const isBorn = given.bornAt > known.bornAt;
  if (!isLater && !isBeat && !isBorn) return false;
  if (isLater) {
    known.heardAt = given.heardAt;
    known.saidGoodbye = given.saidGoodbye;
    known.isHeard = true;
  }
  if (isBeat) {
    known.heartbeatAt = given.heartbeatAt;
    known.intervalMs = given.intervalMs;
    known.clockAheadMs = given.clockAheadMs;
  }
  if (isBorn) known.bornAt = given.bornAt;
  const [later, earlier] = isLater || isBeat ? [given, known] : [known, given];
  const isOther =
    later.facts.pid != null && earlier.facts.pid != null && later.facts.pid !== earlier.facts.pid;
  known.facts = isOther ? later.facts : { ...earlier.facts, ...later.facts };
  return true;
}
