/** Rules about tasks that have not ended. */

import type { Steps } from '../../scheduler.ts';
import type { Activity, OpenTaskSummary, WorkerDeath } from '../../source.ts';
import {
  activityRule,
  clear,
  counted,
  type Finding,
  found,
  inWords,
  lookAtTasks,
  rounded,
} from '../finding.ts';

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
  const killed = (suspects ?? []).flatMap((suspect) => killerOf(suspect, deaths ?? [], now) ?? []);
  return found([...findings, ...killed]);
});

function killerOf(suspect: Suspect, deaths: readonly WorkerDeath[], now: number): Finding | null {
  const { name } = suspect;
  const own = deaths.filter(({ running }) => running.some((task) => task.name === name));
  if (now - (own.at(-1)?.at ?? 0) >= RECENT_MS) return null;
  const workers = [...new Set(own.flatMap(({ worker }) => worker ?? []))];
  const ids = own.flatMap(({ running }) => running.find((task) => task.name === name)?.id ?? []);
  const share = suspect.share < 0.01 ? 'less than 1' : Math.round(100 * suspect.share);
  return {
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
  };
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
  return found([
    {
      severity: 'critical',
      since,
      subject: null,
      summary: `${counted(count, 'task')} ${count === 1 ? 'was' : 'were'} sent and never received`,
      evidence: { tasks: count, task_ids: examples },
      look: lookAtTasks({ state: 'PENDING', order: 'asc' }),
    },
  ]);
});

/** `tasks_overdue`: the eta of a task passed more than 5 minutes ago, and it has not started. */
export const tasksOverdue = activityRule('tasks_overdue', function* ({ open }, now) {
  yield;
  const { overdue } = open;
  if (overdue === null || overdue.since === null || now - overdue.since < LATE_MS) return clear();
  const { count, since, states, examples } = overdue;
  return found([
    {
      severity: 'warning',
      since,
      subject: null,
      summary: `${counted(count, 'task')} overdue, by up to ${inWords(now - since)}`,
      evidence: { tasks: count, oldest_eta: new Date(since).toISOString(), states, task_ids: examples },
      look: lookAtTasks({ state: states, order: 'asc' }),
    },
  ]);
});

const DAY_MS = 24 * 60 * 60_000;
/** Fewer deaths show nothing. */
const LEAST_DEATHS = 3;
/** What happens by chance more often than this is not reported. */
const MOST_CHANCE = 0.05;

/** A name of tasks that ran at most deaths of workers, compared with how much of the time it runs. */
export interface Suspect {
  readonly name: string;
  /** At how many deaths it ran. */
  readonly deaths: number;
  /** Its usual share of the time that tasks run, from 0 to 1. */
  readonly share: number;
  /** How likely it is to run at so many deaths, or more, by chance. */
  readonly chance: number;
}

/**
 * The suspects, the least likely first; `null`: unknown. At a death at which a worker ran k tasks, a name that has the
 * share s of the running time of a day ran with the chance 1 − (1 − s)^k. A suspect ran at three deaths or more, and is
 * not explained by a chance of 5 % that any of the names would.
 */
function* suspectsOf({ counts, deaths }: Activity, now: number): Steps<readonly Suspect[] | null> {
  if (deaths === undefined || counts.ran === undefined) return null;
  if (deaths.length < LEAST_DEATHS) return [];
  const ran = ranInDeaths(deaths);
  for (const name of [...counts.names(), counts.others]) {
    ran.set(name, Math.max(ran.get(name) ?? 0, counts.ran(name, now - DAY_MS, now)));
    yield;
  }
  let total = 0;
  for (const ms of ran.values()) total += ms;
  const suspects: Suspect[] = [];
  for (const [name, times] of timesOf(deaths)) {
    // Any task can bring a name of its own: most of them cost nothing.
    if (times < LEAST_DEATHS) continue;
    const share = total === 0 ? 1 : (ran.get(name) ?? 0) / total;
    const chance = chanceOf(deaths, share, times);
    if (chance * ran.size <= MOST_CHANCE)
      suspects.push({ name, deaths: times, share: rounded(share), chance: rounded(chance) });
    yield;
  }
  return suspects.sort((a, b) => a.chance - b.chance);
}

/** How long the tasks of each name had run at deaths: such a run may end without being counted. In milliseconds. */
function ranInDeaths(deaths: readonly WorkerDeath[]): Map<string, number> {
  const ran = new Map<string, number>();
  for (const { at, running } of deaths) {
    for (const { name, startedAt } of running) {
      if (name !== null) ran.set(name, (ran.get(name) ?? 0) + Math.max(0, at - startedAt));
    }
  }
  return ran;
}

/** At how many deaths each name ran. */
function timesOf(deaths: readonly WorkerDeath[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { running } of deaths) {
    for (const name of new Set(running.flatMap((task) => task.name ?? [])))
      times.set(name, (times.get(name) ?? 0) + 1);
  }
  return times;
}

/** How likely a name with this share runs at so many deaths or more: the exact tail of the binomial distribution. */
function chanceOf(deaths: readonly WorkerDeath[], share: number, least: number): number {
  /** The chances of 0, 1, 2 … deaths. */
  let spread = [1];
  for (const { running } of deaths) {
    const one = 1 - (1 - share) ** running.length;
    spread = [...spread, 0].map((chance, times) => chance * (1 - one) + (spread[times - 1] ?? 0) * one);
  }
  return spread.slice(least).reduce((sum, chance) => sum + chance, 0);
}
