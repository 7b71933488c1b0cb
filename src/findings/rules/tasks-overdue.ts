import { activityOf, clear, counted, inWords, lookAtTasks, type Rule } from '../finding.ts';

/** Shorter delays are waits for a free slot. */
const LATE_MS = 5 * 60_000;

/** `tasks_overdue`: the eta of a task passed more than 5 minutes ago, and it has not started. */
export const tasksOverdue: Rule = {
  code: 'tasks_overdue',
  *judge(source, now) {
    if (!source.hasTasks) return null;
    const { activity, unknown } = activityOf(source);
    if (activity === null) return clear(unknown);
    yield;
    const { overdue } = activity.open;
    if (overdue === null || overdue.since === null || now - overdue.since < LATE_MS) return clear();
    const { count, since, states, examples } = overdue;
    return {
      findings: [
        {
          severity: 'warning',
          since,
          subject: null,
          summary: `${counted(count, 'task')} overdue, by up to ${inWords(now - since)}`,
          evidence: { tasks: count, oldest_eta: new Date(since).toISOString(), states, task_ids: examples },
          look: lookAtTasks({ state: states, order: 'asc' }),
        },
      ],
      unknown: null,
    };
  },
};
