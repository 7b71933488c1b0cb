import type { Steps } from '../../scheduler.ts';
import type { Activity } from '../../source.ts';
import type { QueueBody } from '../../wire.ts';
import {
  activityOf,
  clear,
  counted,
  type Finding,
  inWords,
  lookAtTasks,
  type Rule,
  type SourceSituation,
} from '../finding.ts';

const MINUTE_MS = 60_000;
/** Longer than what a schedule that sends many tasks at once takes to be worked off. */
const LATE_MS = 10 * MINUTE_MS;
const CRITICAL_MS = 30 * MINUTE_MS;
/** Whether clients report what they send is seen in what they sent within this time. */
const SEEN_MS = 24 * 60 * MINUTE_MS;

/** What waits in a queue. */
export interface Waiting {
  readonly queue: string;
  readonly count: number | null;
  /** Since when the task has waited that has been due for longest; `null`: not known. */
  readonly since: number | null;
  /** Whether it may have waited for longer. */
  readonly isAtLeast: boolean;
}

/**
 * `queue_waiting`: a task in a queue could have started 10 minutes ago (critical: 30) and still waits. A task whose
 * eta is in the future does not count. Messages of Celery carry no time of sending: unless it was seen, they wait
 * at least since they were first found.
 *
 * Unknown where a queue holds tasks of unknown age, and where nothing tells whether tasks wait.
 */
export const queueWaiting: Rule = {
  code: 'queue_waiting',
  *judge(source, now) {
    if (!source.hasTasks && source.queues === undefined) return null;
    if (source.queues === null) return clear('The queues could not be read.');
    const { unknown } = activityOf(source);
    if (unknown !== '' && source.queues === undefined) return clear(unknown);
    // What is in a queue is seen also where workers report nothing.
    const activity = source.activity ?? null;
    const rows = waitingByQueue(activity, source.queues, now);
    yield;
    const findings = rows
      .flatMap((row) => findingOf(row, now))
      .sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
    const undated = rows.filter(({ count, since }) => count === null || (count > 0 && since === null));
    if (undated.length === 0) return { findings, unknown: yield* unknownOf(rows, source, activity, now) };
    const unjudged = undated.map(({ queue }) => queue);
    return { findings, unknown: `It is unknown how long tasks have waited in ${unjudged[0]}.`, unjudged };
  },
};

/** By queue, what both the queue and the tasks tell. */
export function waitingByQueue(
  activity: Activity | null,
  queues: readonly QueueBody[] | undefined,
  now: number,
): Waiting[] {
  const rows = new Map<string, Waiting>();
  for (const { name, waiting, oldest_due_seconds } of queues ?? []) {
    const since = oldest_due_seconds === null ? null : now - oldest_due_seconds * 1_000;
    rows.set(name, { queue: name, count: waiting, since, isAtLeast: false });
  }
  for (const { queue, count, since } of activity?.open.waiting ?? []) {
    const known = rows.get(queue);
    // The queue itself knows best that nothing waits in it.
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

function findingOf({ queue, count, since, isAtLeast }: Waiting, now: number): Finding[] {
  if (since === null || now - since < LATE_MS) return [];
  const waits = count === null ? '' : `, ${counted(count, 'task')} waiting`;
  return [
    {
      severity: now - since >= CRITICAL_MS ? 'critical' : 'warning',
      since,
      subject: queue,
      summary: `Queue ${queue}: oldest due ${isAtLeast ? 'at least ' : ''}${inWords(now - since)} ago${waits}`,
      evidence: {
        waiting: count,
        oldest_due_at: new Date(since).toISOString(),
        is_lower_bound: isAtLeast,
      },
      look: lookAtTasks({ queue, state: 'PENDING' }),
    },
  ];
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
