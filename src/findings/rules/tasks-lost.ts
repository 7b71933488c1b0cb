import type { OpenTaskSummary } from '../../source.ts';
import { activityOf, clear, counted, type Finding, lookAtTasks, type Rule } from '../finding.ts';

/**
 * `tasks_lost`: all tasks that a worker had when it disappeared, by worker. Critical while that worker is gone. A
 * warning if it is online again with another process, since the broker may deliver its tasks again (`acks_late`), or
 * if another worker takes over its tasks (BullMQ). A task is not lost once the new process has reported on it.
 */
export const tasksLost: Rule = {
  code: 'tasks_lost',
  *judge(source) {
    if (!source.hasTasks) return null;
    const { activity, unknown } = activityOf(source);
    if (activity === null) return clear(unknown);
    yield;
    const findings = activity.open.lost.map(findingOf);
    findings.sort((a, b) => Number(b.evidence.tasks) - Number(a.evidence.tasks));
    return { findings, unknown: null };
  },
};

function findingOf(lost: OpenTaskSummary['lost'][number]): Finding {
  const { worker, isWorkerOnline, isTakenOver = false, count, since, states, examples } = lost;
  const name = worker ?? 'a worker without a name';
  const had = `${counted(count, 'task')} ${count === 1 ? 'was' : 'were'} on ${name} when it`;
  const takeover = isTakenOver ? '; another worker takes over' : '';
  return {
    severity: isWorkerOnline || isTakenOver ? 'warning' : 'critical',
    since,
    subject: worker,
    summary: isWorkerOnline ? `${had} was restarted` : `${had} stopped sending heartbeats${takeover}`,
    evidence: { tasks: count, states, task_ids: examples, worker_online: isWorkerOnline },
    look: lookAtTasks({ ...(worker === null ? {} : { worker }), state: states }),
  };
}
