/**
 * Attempts that ran more than once although no retry was between: the broker delivered a message again while a worker
 * had it, as Redis does after its visibility timeout.
 */
import type { RepeatedRun } from '../../source.ts';
import { startedEntry } from './attempts.ts';
import { isRetried, type Run, type TaskRuns } from './attribution.ts';
import type { TaskEntry } from './record.ts';

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
