/** The status of a worker, by the time since its last message. Times in milliseconds. */
import type { WorkerStatus } from '../../model.ts';
import { onlineMs, type WorkerRecord } from './worker-record.ts';

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
