import { activityOf, clear, counted, lookAtTasks, type Rule } from '../finding.ts';

/**
 * `tasks_missing`: tasks that were sent, are in no queue and on no worker and have no result. They will not run.
 * The source checks a task 30 seconds after its last event, if it can read queues, workers and result backend. The
 * rule does not apply to an engine that cannot lose a task between queue and worker.
 */
export const tasksMissing: Rule = {
  code: 'tasks_missing',
  *judge(source) {
    if (!source.hasTasks) return null;
    const { activity, unknown } = activityOf(source);
    if (activity === null) return clear(unknown);
    yield;
    const { missing } = activity.open;
    if (missing === undefined) return null;
    if (missing === null) return clear();
    const { count, since, examples } = missing;
    return {
      findings: [
        {
          severity: 'critical',
          since,
          subject: null,
          summary: `${counted(count, 'task')} ${count === 1 ? 'was' : 'were'} sent and never received`,
          evidence: { tasks: count, task_ids: examples },
          look: lookAtTasks({ state: 'PENDING', order: 'asc' }),
        },
      ],
      unknown: null,
    };
  },
};
