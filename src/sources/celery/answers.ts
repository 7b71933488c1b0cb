/** The answering half of the source: its parts, made from a history and a deployment. */
import type { HistoryReader } from '../../history/history.ts';
import { withInstanceMarks } from '../../history/instance-marks.ts';
import { type HistorySources, historySources } from '../../history/store-parts.ts';
import { totalsIn } from '../../select/durations.ts';
import type { Activity, MonitorSources, TaskStats } from '../../source.ts';
import type { Deployment } from './deployment.ts';
import { withWaiting } from './queues/waiting-tasks.ts';
import { withOutcomes } from './schedules/run-outcomes.ts';

/** The parts that a Celery source answers. */
export type CeleryParts = Required<Omit<MonitorSources, 'close' | 'tasks' | 'metrics'>> &
  Pick<HistorySources, 'tasks'>;

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
