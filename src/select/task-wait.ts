import type { Task } from '../model.ts';

/**
 * How long a task waited for its last start, in seconds: since it was sent, or since its eta if that was later.
 *
 * @param since when it was sent, in milliseconds since 1970 like the others; `null`: unknown
 * @returns `null` if that is unknown, or if the task seems to start before it was sent because clocks differ
 */
export function waitBetween(since: number | null, eta: number | null, started: number | null): number | null {
  if (started === null || since === null || started < since) return null;
  // The clock that set the eta may also differ from that of the worker.
  return eta !== null && eta > since ? Math.max(0, started - eta) / 1_000 : (started - since) / 1_000;
}

/** The wait of a task as its source reports it; otherwise computed from its times, unless it was retried. */
export function waitSecondsOf(task: Task): number | null {
  const { waitSeconds, retries, sent, received, eta, started } = task;
  if (waitSeconds !== undefined) return typeof waitSeconds === 'number' ? waitSeconds : null;
  if (typeof retries === 'number' && retries > 0) return null;
  return waitBetween(timeOf(sent) ?? timeOf(received), timeOf(eta), timeOf(started));
}

/** A `Date` of the host may throw here. */
function timeOf(time: Date | null | undefined): number | null {
  try {
    const value = time instanceof Date ? time.getTime() : Number.NaN;
    return Number.isNaN(value) ? null : value;
  } catch {
    return null;
  }
}
