/** Workers as text, and back. Their times are by the clock of the database. */
import { isRecord, isTime } from '../../values.ts';
import type { StoredWorker } from '../workers/worker-record.ts';

/** @param aheadMs how far the clock of the database is ahead of that of this instance */
export function writeWorkersText(workers: readonly StoredWorker[], aheadMs: number): string {
  return JSON.stringify(
    workers.map((worker) => ({
      ...worker,
      heardAt: Math.round(worker.heardAt + aheadMs),
      clockAheadMs: Math.round(worker.clockAheadMs - aheadMs),
    })),
  );
}

/** @returns the readable workers */
export function readWorkersText(text: string, aheadMs: number): StoredWorker[] {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows.flatMap((row) => workerOf(row, aheadMs) ?? []) : [];
  } catch {
    return [];
  }
}

function workerOf(row: unknown, aheadMs: number): StoredWorker | null {
  if (!isRecord(row)) return null;
  const { hostname, heardAt, isHeard, heartbeatAt, intervalMs, clockAheadMs, bornAt, saidGoodbye, facts } =
    row;
  if (typeof hostname !== 'string' || !isTime(heardAt) || typeof intervalMs !== 'number') return null;
  return {
    hostname,
    heardAt: heardAt - aheadMs,
    isHeard: isHeard === true,
    heartbeatAt: isTime(heartbeatAt) ? heartbeatAt : null,
    intervalMs,
    clockAheadMs: isTime(clockAheadMs) ? clockAheadMs + aheadMs : 0,
    bornAt: isTime(bornAt) ? bornAt : null,
    saidGoodbye: saidGoodbye === true,
    facts: isRecord(facts) ? facts : {},
  };
}
