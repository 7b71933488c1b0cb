/** The answering half of the source: its parts, made from a history and a deployment. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HistoryReader } from '../../history/history.ts';
import { withInstanceMarks } from '../../history/instance-marks.ts';
import { type HistorySources, historySources } from '../../history/store-parts.ts';
import { createLruCache } from '../../lru-cache.ts';
import { isDone, type Schedule, type ScheduleRun } from '../../model.ts';
import { totalsIn } from '../../select/durations.ts';
import type {
  Activity,
  ComponentSource,
  HealthSource,
  MonitorSources,
  QueueSource,
  ReadContext,
  ScheduleSource,
  TaskStats,
  WorkerSource,
} from '../../source.ts';
import type { Freshness } from './collector.ts';
import { type Waiting, withWaiting } from './queues/waiting-tasks.ts';

/** The parts that a Celery source answers. */
export type CeleryParts = Required<Omit<MonitorSources, 'close' | 'redact' | 'tasks' | 'experimental'>> &
  Pick<HistorySources, 'tasks' | 'experimental'>;

/** Every part of a source. */
export function createAnswers(name: string, reader: HistoryReader, deployment: Deployment): CeleryParts {
  const { waiting, queues, schedules, health, components } = deployment;
  const known = historySources(name, reader, deployment.status);
  const { workers } = historySources(name, reader, deployment.workerStatus);
  const found = deployment.withLookup(known.tasks);
  const tasks = withInstanceMarks(
    waiting === null ? found : withWaiting(found, waiting, reader),
    reader.instance,
  );
  return {
    ...known,
    tasks: {
      ...tasks,
      async getTaskStats(query, context) {
        const stats = await tasks.getTaskStats(query, context);
        return deployment.sight().blind === null ? stats : withoutMoves(stats);
      },
    },
    experimental: {
      ...known.experimental,
      getActivity: async (context) => withSight(await reader.getActivity(context), deployment),
    },
    workers: deployment.withInspection(workers),
    queues,
    schedules: withOutcomes(schedules, reader),
    health,
    components,
  };
}

/** The data for the rules: that of the history, and the part that only the deployment has. */
function withSight(activity: Activity, deployment: Deployment): Activity {
  const { blind, waiting } = deployment.sight();
  if (waiting === null) return { ...activity, blind };
  return { ...activity, blind, open: { ...activity.open, waiting } };
}

/** Without the events of all workers, it is unknown what they received, and what they retried. */
function withoutMoves(stats: TaskStats): TaskStats {
  const series = stats.series.map((step) => ({ ...step, received: null, retried: null }));
  const unknown = series.map(() => null);
  return {
    ...stats,
    series,
    ...(stats.totals && { totals: { ...stats.totals, ...totalsIn(series) } }),
    ...(stats.queueDepths && {
      queueDepths: stats.queueDepths.map((queue) => ({ ...queue, sent: unknown, received: unknown })),
    }),
  };
}

/** Most runs whose tasks are looked up for one answer: the latest of every entry first. */
const MOST_LOOKUPS = 200;
/** Lookups in one turn of the event loop. */
const LOOKUPS_AT_ONCE = 20;
/** Tasks that have ended, by id: they no longer change. */
const MOST_KNOWN = 10_000;

type Outcome = Pick<ScheduleRun, 'state' | 'runtime'>;

/** A source of schedules whose runs have only id and time. */
function withOutcomes(schedules: ScheduleSource, reader: HistoryReader): ScheduleSource {
  const known = createLruCache<Outcome>({ entries: MOST_KNOWN });

  async function lookUp(id: string, context: ReadContext): Promise<Outcome | null> {
    const task = await reader.getTask(id, context);
    if (task === null) return null;
    const outcome = { state: task.state, runtime: task.runtime ?? null };
    if (isDone(task.state)) known.set(id, outcome);
    return outcome;
  }

  return {
    ...schedules,
    async listSchedules(context) {
      const listed = await schedules.listSchedules(context);
      if (listed === null) return null;
      const found = new Map<string, Outcome>();
      let lookups = 0;
      for (const { taskId } of latestFirst(listed)) {
        const held = known.get(taskId);
        if (held === undefined && ++lookups > MOST_LOOKUPS) continue;
        const outcome = held ?? (await lookUp(taskId, context));
        if (outcome !== null) found.set(taskId, outcome);
        if (held === undefined && lookups % LOOKUPS_AT_ONCE === 0) await nextTurn();
      }
      return listed.map((schedule) => withFound(schedule, found));
    },
  };
}

/** The latest run of each entry, then the one before it of each … */
function latestFirst(schedules: readonly Schedule[]): readonly ScheduleRun[] {
  const longest = Math.max(0, ...schedules.map(({ lastRuns }) => lastRuns?.length ?? 0));
  return Array.from({ length: longest }, (_, index) =>
    schedules.flatMap(({ lastRuns }) => lastRuns?.[index] ?? []),
  ).flat();
}

function withFound(schedule: Schedule, found: ReadonlyMap<string, Outcome>): Schedule {
  const { lastRuns } = schedule;
  if (lastRuns == null) return schedule;
  return { ...schedule, lastRuns: lastRuns.map((run) => ({ ...run, ...found.get(run.taskId) })) };
}

/** The data for the rules that a history does not have. */
export interface Sight {
  /** Why tasks may run unobserved; `null`: nothing is known to hide them. */
  readonly blind: string | null;
  /** The tasks that wait in queues; `null` if messages cannot be listed. */
  readonly waiting: Activity['open']['waiting'] | null;
}

/**
 * The data of a deployment that answers need besides its tasks, workers and feed, which are in a history: their
 * freshness, the tasks that wait in queues, and everything that is not a task. Texts are redacted.
 */
export interface Deployment {
  /** The freshness of the tasks and the feed. */
  status(): Freshness;
  /** The freshness of the workers: only events report them. */
  workerStatus(): Freshness;
  /** Tasks that wait in queues; `null` where their messages cannot be listed. */
  readonly waiting: Waiting | null;
  readonly queues: QueueSource;
  readonly schedules: ScheduleSource;
  readonly health: HealthSource;
  readonly components: ComponentSource;
  sight(): Sight;
  /** The task source of a history, which then also finds what only the deployment knows. */
  withLookup(tasks: HistorySources['tasks']): HistorySources['tasks'];
  /** The worker source of a history, with the data that only the workers themselves have. */
  withInspection(workers: WorkerSource): WorkerSource;
}
