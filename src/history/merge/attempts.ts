/**
 * The runs of a task. A task may run more than once: a retry is its next attempt, and an attempt that is
 * delivered again, or replaced, runs again. `attribution.ts` decides which message belongs to which run.
 */
import { attributeEntries, type Run, type TaskRuns } from './attribution.ts';
import { KIND_ORDER, type TaskEntry } from './record.ts';

/** @param entries in any order: the runs do not depend on it */
export function runsOf(entries: readonly TaskEntry[]): TaskRuns {
  return onlyRun(entries) ?? attributeEntries(entries);
}

/** Nearly every task runs once, and all its messages belong to that run. @returns `null` otherwise */
function onlyRun(entries: readonly TaskEntry[]): TaskRuns | null {
  let received: TaskEntry | null = null;
  let attempt = -1;
  let firstEvent = Number.POSITIVE_INFINITY;
  const reports: TaskEntry[] = [];
  for (const entry of entries) {
    const { kind, retries } = entry;
    if (kind === 'retried') return null;
    if (retries !== null && !(entry.isCounted && retries === 0)) {
      if (entry.isCounted || (attempt !== -1 && retries !== attempt)) return null;
      attempt = retries;
    }
    if (kind === 'sent') continue;
    if (kind === 'received') {
      if (received !== null) return null;
      received = entry;
    }
    if (entry.origin === 'event' && entry.time < firstEvent) firstEvent = entry.time;
    reports.push(entry);
  }
  // What happened before it was received belongs to an earlier run.
  if (received !== null && firstEvent < received.time) return null;
  attempt = Math.max(attempt, 0);
  return { runs: reports.length === 0 ? [] : [{ received, attempt, entries: reports }], attempt };
}

/** The run that the task is in, or was in last: of the highest attempt, the one that changed last. */
export function currentRun(runs: readonly Run[]): Run | null {
  let current: Run | null = null;
  for (const run of runs) {
    if (current === null || isLater(run, current)) current = run;
  }
  return current;
}

function isLater(run: Run, than: Run): boolean {
  if (run.attempt !== than.attempt) return run.attempt > than.attempt;
  const [top, other] = [decidingEntry(run), decidingEntry(than)];
  return changedAt(run, top, other) >= changedAt(than, other, top);
}

/** A time of arrival does not show that a run went on after another one had ended. */
function changedAt({ received }: Run, { time, timeSource }: TaskEntry, other: TaskEntry): number {
  const hasOtherEnded = KIND_ORDER[other.kind] >= KIND_ORDER.revoked;
  return timeSource !== 'sender' && hasOtherEnded ? (received?.time ?? time) : time;
}

/** The entry that decides the state of a run: the one of the highest kind. */
export function decidingEntry({ entries }: Run): TaskEntry {
  let top = entries[0] as TaskEntry;
  for (const entry of entries) {
    if (entry.kind === top.kind ? isBetter(entry, top) : KIND_ORDER[entry.kind] > KIND_ORDER[top.kind])
      top = entry;
  }
  return top;
}

/** When the run started, as precisely as it is known. */
export function startedEntry({ entries }: Run): TaskEntry | null {
  let best: TaskEntry | null = null;
  for (const entry of entries) {
    if (entry.kind === 'started' && (best === null || isBetter(entry, best))) best = entry;
  }
  return best;
}

/** Of two entries of the same kind a worker's counts more than the backend's, then the later one. */
function isBetter(entry: TaskEntry, than: TaskEntry): boolean {
  if (entry.origin !== than.origin) return entry.origin === 'event';
  if (entry.time !== than.time) return entry.time > than.time;
  return (entry.worker ?? '') > (than.worker ?? '');
}
