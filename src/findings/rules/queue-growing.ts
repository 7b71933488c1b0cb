import { activityOf, clear, counted, inWords, lookAtTasks, type Rule } from '../finding.ts';

const MINUTE_MS = 60_000;
/** A schedule that sends many tasks together makes a queue grow for a while. */
const LONG_MS = 15 * MINUTE_MS;
const CRITICAL_MS = 60 * MINUTE_MS;

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
        severity: now - since >= CRITICAL_MS ? ('critical' as const) : ('warning' as const),
        since,
        subject: queue,
        summary: `Queue ${queue}: growing for ${inWords(now - since)}, from ${from.toLocaleString('en')} to ${counted(waiting, 'task')}`,
        evidence: { waiting, waiting_before: from, growing_since: new Date(since).toISOString() },
        look: lookAtTasks({ queue, state: 'PENDING' }),
      }));
    return { findings, unknown: null };
  },
};
