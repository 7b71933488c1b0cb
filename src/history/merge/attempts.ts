/**
 * The runs of a task. A task may run more than once: a retry is its next attempt, and an attempt that is
 * delivered again, or replaced, runs again. `attribution.ts` decides which message belongs to which run. An attempt that
 * ran more than once although no retry was between is noted when it changes, as no answer searches for it: the broker
 * delivered a message again while a worker had it, as Redis does after its visibility timeout.
 */
import type { RepeatedRun, RepeatedTask } from '../../source.ts';
import { attributeEntries, isRetried, type Run, type TaskRuns } from './attribution.ts';
import { KIND_ORDER, type TaskEntry, type TaskRecord } from './record.ts';

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

/**
 * A message that several workers receive within this time was sent to all of them (a broadcast queue), and is not
 * delivered again. Celery reports the failure of a killed task twice within it. Milliseconds.
 */
const SAME_MOMENT_MS = 1_000;

/**
 * The runs of an attempt that ran more than once, the earliest first; `null`: there is none, or it is not certain.
 *
 * It takes two runs that a worker received as the same attempt and started, the earlier one with an end of its own; the
 * last one may have been retried. A run that never ended may be that of a killed worker, or of a task that replaced
 * itself. A second message is no second delivery: where its sender reports messages, there must be one only, and elsewhere
 * the runs must overlap.
 */
export function repeatIn({ runs }: TaskRuns, entries: readonly TaskEntry[]): readonly RepeatedRun[] | null {
  if (runs.length < 2) return null;
  for (const [at, { attempt }] of runs.entries()) {
    // Runs are sorted by attempt.
    if (runs[at - 1]?.attempt === attempt) continue;
    const all = runs.filter((run) => run.attempt === attempt);
    const begun = all.filter((run, which) => isBegun(run) && (!isRetried(run) || which === all.length - 1));
    if (begun.length < 2 || isBroadcast(begun)) continue;
    const sent = entries.filter((entry) => isSending(entry, attempt)).length;
    // Events and results date the same end differently. A worker that lost its connection reports no end by an event.
    for (const origin of ['event', 'result'] as const) {
      const repeated = withEnds(begun, origin);
      const hasEnded = repeated.slice(0, -1).some(({ endedAt }) => endedAt !== null);
      if (hasEnded && (sent === 1 || (sent === 0 && doOverlap(begun, repeated)))) return repeated;
    }
  }
  return null;
}

/** Whether a worker received the attempt by its number and started it, and did not put it back. */
function isBegun({ received, entries }: Run): boolean {
  if (received?.retries == null || received.timeSource !== 'sender') return false;
  return (
    entries.some((entry) => entry.kind === 'started' && isDated(entry, 'event')) &&
    !entries.some(({ kind }) => kind === 'requeued')
  );
}

function isDated(entry: TaskEntry, origin: TaskEntry['origin']): boolean {
  return entry.origin === origin && entry.timeSource === 'sender';
}

function isSending({ kind, origin, isStored, retries }: TaskEntry, attempt: number): boolean {
  return kind === 'sent' && origin === 'event' && !isStored && (retries ?? 0) === attempt;
}

function isBroadcast(runs: readonly Run[]): boolean {
  return runs.some(({ received }, at) => {
    const next = runs[at + 1]?.received;
    if (received == null || next == null || next.worker === received.worker) return false;
    return Math.abs(next.time - received.time) < SAME_MOMENT_MS;
  });
}

/** Each run with its end. The last one has the last end of its worker, since no message about an end tells its run. */
function withEnds(runs: readonly Run[], origin: TaskEntry['origin']): readonly RepeatedRun[] {
  const ends = runs
    .flatMap(({ entries }) => entries)
    .filter((entry) => (entry.kind === 'succeeded' || entry.kind === 'failed') && isDated(entry, origin))
    .sort((a, b) => a.time - b.time)
    .filter((end, at, all) => !isSameFailure(end, all[at - 1]));
  return runs
    .map((run) => ({ worker: run.received?.worker ?? null, startedAt: startedEntry(run)?.time ?? 0 }))
    .toReversed()
    .map(({ worker, startedAt }) => {
      const own = ends.findLastIndex((end) => (end.worker ?? worker) === worker && end.time >= startedAt);
      const [end] = own < 0 ? [] : ends.splice(own, 1);
      return {
        worker,
        startedAt: Math.floor(startedAt),
        endedAt: end === undefined ? null : Math.floor(end.time),
      };
    })
    .toReversed();
}

function isSameFailure(end: TaskEntry, before: TaskEntry | undefined): boolean {
  if (before === undefined || end.kind !== 'failed' || before.kind !== 'failed') return false;
  return end.worker === before.worker && end.time - before.time < SAME_MOMENT_MS;
}

/**
 * Whether a run began before an earlier one had ended, or was received before that one began, as a copy that waits for the
 * same eta. What a task sends while it runs, with its own id, comes later.
 */
function doOverlap(runs: readonly Run[], repeated: readonly RepeatedRun[]): boolean {
  return repeated.some(({ startedAt, endedAt }, at) => {
    const next = repeated[at + 1];
    if (next === undefined || endedAt === null) return false;
    return next.startedAt < endedAt || (runs[at + 1]?.received?.time ?? endedAt) < startedAt;
  });
}

/** For how long a task that ran twice is listed, in milliseconds. */
const LISTED_MS = 60 * 60_000;
/** Most tasks that are listed: the latest. */
const MOST_TASKS = 1_000;

/** The tasks that ran twice. @returns an empty list */
export function createRepeatedTasks() {
  const tasks = new Map<string, RepeatedTask>();
  let hasStarts = false;
  let hasAttempts = false;
  return {
    /** A task has changed. */
    note({ id, name, entries }: TaskRecord): void {
      let received = 0;
      for (const { kind, origin, retries } of entries) {
        if (origin !== 'event') continue;
        if (kind === 'started') hasStarts = true;
        else if (kind === 'received' && retries !== null && ++received > 0) hasAttempts = true;
      }
      if (received < 2) return;
      const runs = repeatIn(runsOf(entries), entries);
      tasks.delete(id);
      if (runs === null) return;
      tasks.set(id, { id, name, runs });
      const [oldest] = tasks.keys();
      if (tasks.size > MOST_TASKS && oldest !== undefined) tasks.delete(oldest);
    },
    /** Those of the last hour; `undefined`: tasks start, and no message tells which attempt that is. */
    list(now: number): readonly RepeatedTask[] | undefined {
      if (hasStarts && !hasAttempts) return undefined;
      const isRecent = ({ startedAt, endedAt }: RepeatedTask['runs'][number]): boolean =>
        now - (endedAt ?? startedAt) < LISTED_MS;
      return [...tasks.values()].filter(({ runs }) => runs.some(isRecent));
    },
  };
}
