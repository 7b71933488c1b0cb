/** Rules about tasks that have not ended. */
import type { OpenTaskSummary, WorkerDeath } from '../../source.ts';
import { activityRule, clear, counted, type Finding, inWords, lookAtTasks } from '../finding.ts';
import { type Suspect, suspectsOf } from './suspects.ts';

/** Shorter delays are waits for a free slot. */
const LATE_MS = 5 * 60_000;
/** Deaths of workers before that are no problem of now. */
const RECENT_MS = 60 * 60_000;
/** Maximum number of named tasks and workers. */
const MOST_EXAMPLES = 3;

/**
 * `tasks_lost`: all tasks that a worker had when it disappeared, by worker. Critical while that worker is gone. A
 * warning if it is online again with another process, since the broker may deliver its tasks again (`acks_late`), or
 * if another worker takes over its tasks (BullMQ). A task is not lost once the new process has reported on it.
 *
 * Also, as a warning: a name of tasks ran at more deaths of workers, or of their processes, than chance explains, and one
 * of them was within the last hour.
 */
export const tasksLost = activityRule('tasks_lost', function* (activity, now) {
  const { open, deaths } = activity;
  const suspects = yield* suspectsOf(activity, now);
  const known = { deaths: deaths?.length ?? null, suspects };
  const findings = open.lost.map((lost) => lossOf(lost, known));
  findings.sort((a, b) => Number(b.evidence.tasks) - Number(a.evidence.tasks));
  const killed = (suspects ?? []).flatMap((suspect) => killerOf(suspect, deaths ?? [], now));
  return { findings: [...findings, ...killed], unknown: null };
});

function killerOf(suspect: Suspect, deaths: readonly WorkerDeath[], now: number): readonly Finding[] {
  const { name } = suspect;
  const own = deaths.filter(({ running }) => running.some((task) => task.name === name));
  if (now - (own.at(-1)?.at ?? 0) >= RECENT_MS) return [];
  const workers = [...new Set(own.flatMap(({ worker }) => worker ?? []))];
  const ids = own.flatMap(({ running }) => running.find((task) => task.name === name)?.id ?? []);
  const share = suspect.share < 0.01 ? 'less than 1' : Math.round(100 * suspect.share);
  return [
    {
      severity: 'warning',
      since: own[0]?.at ?? null,
      subject: name,
      summary: `${name} was running at ${own.length} of ${deaths.length} deaths of workers, though it takes ${share} % of the running time`,
      evidence: {
        deaths: deaths.length,
        suspects: [suspect],
        workers: workers.slice(0, MOST_EXAMPLES),
        task_ids: ids.slice(-MOST_EXAMPLES),
      },
      look: lookAtTasks({ name }),
    },
  ];
}

/** @param known about the deaths of workers */
function lossOf(lost: OpenTaskSummary['lost'][number], known: Finding['evidence']): Finding {
  const { worker, isWorkerOnline, isTakenOver = false, count, since, states, examples } = lost;
  const name = worker ?? 'a worker without a name';
  const had = `${counted(count, 'task')} ${count === 1 ? 'was' : 'were'} on ${name} when it`;
  const takeover = isTakenOver ? '; another worker takes over' : '';
  return {
    severity: isWorkerOnline || isTakenOver ? 'warning' : 'critical',
    since,
    subject: worker,
    summary: isWorkerOnline ? `${had} was restarted` : `${had} stopped sending heartbeats${takeover}`,
    evidence: { tasks: count, states, task_ids: examples, worker_online: isWorkerOnline, ...known },
    look: lookAtTasks({ ...(worker === null ? {} : { worker }), state: states }),
  };
}

/**
 * `tasks_missing`: tasks that were sent, are in no queue and on no worker and have no result. They will not run.
 * The source checks a task 30 seconds after its last event, if it can read queues, workers and result backend. The
 * rule does not apply to an engine that cannot lose a task between queue and worker.
 */
export const tasksMissing = activityRule('tasks_missing', function* ({ open }) {
  yield;
  const { missing } = open;
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
});

/** `tasks_overdue`: the eta of a task passed more than 5 minutes ago, and it has not started. */
export const tasksOverdue = activityRule('tasks_overdue', function* ({ open }, now) {
  yield;
  const { overdue } = open;
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
});
