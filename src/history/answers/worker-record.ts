/** What is known of one worker. */
import type { WorkerChange } from '../history.ts';

/** Celery's own default, used until a worker tells its interval. */
const DEFAULT_INTERVAL_MS = 2_000;
/** How much later than it should a message of a worker may come. */
export const GRACE_MS = 2_000;
/** How far a told uptime may be off: it is rounded, and the worker's clock is not ours. */
const BIRTH_MARGIN_MS = 2_000;

/** One worker. Times in milliseconds. */
export interface WorkerRecord {
  readonly hostname: string;
  /** When it was last heard of, by our clock; of one that never was, when it became known. */
  heardAt: number;
  /** False while it is known only from what was read. */
  isHeard: boolean;
  /** When it last said a heartbeat, by its own clock. */
  heartbeatAt: number | null;
  intervalMs: number;
  /** Its present process was not there before, by its own clock. */
  bornAt: number;
  saidGoodbye: boolean;
  facts: Omit<WorkerChange, 'hostname' | 'type' | 'time'>;
}

/** @param knownAt when it became known */
export function newWorker(hostname: string, knownAt: number): WorkerRecord {
  return {
    hostname,
    heardAt: knownAt,
    isHeard: false,
    heartbeatAt: null,
    intervalMs: DEFAULT_INTERVAL_MS,
    bornAt: Number.NEGATIVE_INFINITY,
    saidGoodbye: false,
    facts: {},
  };
}

/** Whether the first is to be forgotten before the second, for want of room. */
export function goesBefore(one: WorkerRecord, other: WorkerRecord): boolean {
  return one.isHeard === other.isHeard ? one.heardAt < other.heardAt : !one.isHeard;
}

/**
 * Finds out since when its present process has been there.
 *
 * @param isOther it is not the process of before
 * @returns whether tasks that it took before are lost now
 */
export function takeBirth(worker: WorkerRecord, change: WorkerChange, isOther: boolean): boolean {
  const { type, time, uptimeSeconds, processed } = change;
  let bornAt = Number.NEGATIVE_INFINITY;
  if (uptimeSeconds != null) bornAt = time - uptimeSeconds * 1_000 - BIRTH_MARGIN_MS;
  // A process that comes online without ever having run a task took none of those known so far.
  else if (type === 'online' && (isOther || (worker.facts.pid == null && processed === 0))) bornAt = time;
  else if (isOther) bornAt = worker.heartbeatAt ?? bornAt;
  // Told uptimes differ by their rounding.
  if (bornAt <= worker.bornAt + (isOther ? 0 : BIRTH_MARGIN_MS)) return isOther;
  worker.bornAt = bornAt;
  return true;
}

/** How long a worker may be silent and count as online, in milliseconds. */
export function onlineMs({ intervalMs }: WorkerRecord): number {
  return 2 * intervalMs + GRACE_MS;
}

/** What a message tells, over what was known before: a forced heartbeat leaves most fields out. */
export function factsOf(change: WorkerChange, before: WorkerRecord['facts']): WorkerRecord['facts'] {
  const facts: Record<string, unknown> = { ...before };
  for (const [field, value] of Object.entries(change)) {
    if (value !== undefined && value !== null && !['hostname', 'type', 'time'].includes(field)) {
      facts[field] = value;
    }
  }
  return facts;
}
