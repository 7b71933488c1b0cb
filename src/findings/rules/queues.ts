/** Rules about queues. */

import type { Steps } from '../../scheduler.ts';
import type { Activity } from '../../source.ts';
import {
  activityOf,
  bySince,
  clear,
  counted,
  type Finding,
  found,
  inWords,
  type JudgedQueue,
  lookAtTasks,
  type Rule,
  type SourceSituation,
} from '../finding.ts';

const MINUTE_MS = 60_000;
/** Longer than it takes to run the tasks of a schedule that sends many together. */
const LATE_MS = 10 * MINUTE_MS;
const CRITICAL_MS = 30 * MINUTE_MS;
/** How far back to look for reports of sent tasks, which show that clients send them. */
const SEEN_MS = 24 * 60 * MINUTE_MS;

/** The waiting tasks of a queue. */
export interface Waiting {
  readonly queue: string;
  readonly count: number | null;
  /** Since when the task that has been due for longest has waited; `null`: unknown. */
  readonly since: number | null;
  /** Whether it may have waited for longer. */
  readonly isAtLeast: boolean;
}

/**
 * `queue_waiting`: a task in a queue could have started 10 minutes ago (critical: 30) and still waits. A task whose
 * eta is in the future does not count. Messages of Celery do not contain the time at which they were sent: if it was
 * not observed, they have waited at least since they were first found.
 *
 * Unknown if a queue has tasks of unknown age, or if nothing shows whether tasks wait.
 */
export const queueWaiting: Rule = {
  code: 'queue_waiting',
  *judge(source, now) {
    if (!source.hasTasks && source.queues === undefined) return null;
    if (source.queues === null) return clear('The queues could not be read.');
    const { unknown } = activityOf(source);
    if (unknown !== '' && source.queues === undefined) return clear(unknown);
    // Queues can be read even if workers report nothing.
    const activity = source.activity ?? null;
    const rows = waitingByQueue(activity, source.queues);
    yield;
    const findings = rows.flatMap((row) => findingOf(row, now) ?? []).sort(bySince);
    const undated = rows.filter(({ count, since }) => count === null || (count > 0 && since === null));
    if (undated.length === 0) return { findings, unknown: yield* unknownOf(rows, source, activity, now) };
    const unjudged = undated.map(({ queue }) => queue);
    return { findings, unknown: `It is unknown how long tasks have waited in ${unjudged[0]}.`, unjudged };
  },
};

/** By queue: the waiting tasks according to both the queue and the activity. */
export function waitingByQueue(
  activity: Activity | null,
  queues: readonly JudgedQueue[] | undefined,
): Waiting[] {
  const rows = new Map<string, Waiting>();
  for (const { name, waiting, oldestDueAt } of queues ?? []) {
    rows.set(name, { queue: name, count: waiting, since: oldestDueAt, isAtLeast: false });
  }
  for (const { queue, count, since } of activity?.open.waiting ?? []) {
    const known = rows.get(queue);
    // If the queue itself reports that it is empty, nothing waits.
    if (known?.count === 0) continue;
    const isEarlier = known?.since == null || (since !== null && since < known.since);
    rows.set(queue, {
      queue,
      count: known?.count ?? count,
      since: isEarlier ? since : known.since,
      isAtLeast: isEarlier && queues !== undefined,
    });
  }
  return [...rows.values()];
}

function findingOf({ queue, count, since, isAtLeast }: Waiting, now: number): Finding | null {
  if (since === null || now - since < LATE_MS) return null;
  const waits = count === null ? '' : `, ${counted(count, 'task')} waiting`;
  return {
    severity: now - since >= CRITICAL_MS ? 'critical' : 'warning',
    since,
    subject: queue,
    summary: `Queue ${queue}: oldest due ${isAtLeast ? 'at least ' : ''}${inWords(now - since)} ago${waits}`,
    evidence: { waiting: count, oldest_due_at: new Date(since).toISOString(), is_lower_bound: isAtLeast },
    look: lookAtTasks({ queue, state: 'PENDING' }),
  };
}

function* unknownOf(
  rows: readonly Waiting[],
  { queues }: SourceSituation,
  activity: Activity | null,
  now: number,
): Steps<string | null> {
  if (queues !== undefined || rows.length > 0 || activity === null) return null;
  const { counts } = activity;
  for (const name of counts.names()) {
    if (counts.counts(name, now - SEEN_MS, now + MINUTE_MS).sent > 0) return null;
    yield;
  }
  return 'No queue is listed, and no sent task is known.';
}

/** A schedule that sends many tasks together makes a queue grow for a while. */
const LONG_MS = 15 * MINUTE_MS;
const LONG_CRITICAL_MS = 60 * MINUTE_MS;

/**
 * `queue_growing`: for 15 minutes (critical: an hour) more tasks have entered a queue than left it. The definition of
 * growth is in `growingSince`.
 *
 * Unknown if the source does not know depths over time.
 */
export const queueGrowing: Rule = {
  code: 'queue_growing',
  *judge(source, now) {
    if (!source.hasTasks && source.queues === undefined) return null;
    const { activity } = source;
    const { unknown } = activityOf(source);
    if (activity == null) return clear(unknown);
    if (activity.growing === undefined) return clear('The source does not record queue depths over time.');
    const findings = activity.growing
      .filter(({ since }) => now - since >= LONG_MS)
      .toSorted((a, b) => a.since - b.since)
      .map(({ queue, since, from, waiting }) => ({
        severity: now - since >= LONG_CRITICAL_MS ? ('critical' as const) : ('warning' as const),
        since,
        subject: queue,
        summary: `Queue ${queue}: growing for ${inWords(now - since)}, from ${from.toLocaleString('en')} to ${counted(waiting, 'task')}`,
        evidence: { waiting, waiting_before: from, growing_since: new Date(since).toISOString() },
        look: lookAtTasks({ queue, state: 'PENDING' }),
      }));
    return found(findings);
  },
};
