/** Finds the highest attempt that is known of a task. */
import type { TaskEntry } from './record.ts';
import type { OpenRun } from './run.ts';

/** Maximum delay of the report of a retry after the next attempt has started, in milliseconds. */
const MAX_DELAY_MS = 10_000;

/**
 * @param entries of the task
 * @param runs one for each `received`
 * @param retries the `retried` events without a number, by time
 */
export function highestAttempt(
  entries: readonly TaskEntry[],
  runs: readonly OpenRun[],
  retries: readonly TaskEntry[],
): number {
  let attempt = runs.at(-1)?.attempt ?? 0;
  for (const { kind, retries: number } of entries) {
    if (number !== null) attempt = Math.max(attempt, kind === 'retried' ? number + 1 : number);
  }
  const seen = runs.filter((run) => run.attempt < attempt);
  // One for each run of an earlier attempt, and for each earlier attempt without messages.
  const earlier = seen.length + attempt - new Set(seen.map((run) => run.attempt)).size;
  const first = retries[earlier];
  if (first !== undefined) return mayEnd(runs, attempt, first) ? attempt + retries.length - earlier : attempt;
  // The retry of an attempt without messages was probably missed, too.
  const delay = retries.length > seen.length ? 0 : MAX_DELAY_MS;
  return isEnded(entries, runs, attempt, retries.at(-1), delay) ? attempt + 1 : attempt;
}

/** Whether this retry may be that of the attempt. */
function mayEnd(runs: readonly OpenRun[], attempt: number, { time, worker }: TaskEntry): boolean {
  const own = runs.filter((run) => run.attempt === attempt);
  return own.length === 0 || own.some(({ received }) => isBefore(received, time, worker));
}

function isBefore(received: TaskEntry | null, time: number, worker: string | null): boolean {
  return received !== null && received.time <= time && (worker === null || received.worker === worker);
}

/** Whether the last retry came so long after the start of this attempt that it is its own. */
function isEnded(
  entries: readonly TaskEntry[],
  runs: readonly OpenRun[],
  attempt: number,
  last: TaskEntry | undefined,
  delay: number,
): boolean {
  if (last === undefined) return false;
  const run = runs.findLast(
    (own) => own.attempt === attempt && isBefore(own.received, last.time, last.worker),
  );
  const since = run?.received?.time;
  if (since === undefined) return false;
  return entries.some(
    ({ kind, origin, time, worker }) =>
      kind === 'started' &&
      origin === 'event' &&
      worker === last.worker &&
      time >= since &&
      time + delay < last.time,
  );
}
