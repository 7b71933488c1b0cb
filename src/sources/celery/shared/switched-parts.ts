/** Parts of a source whose answers come from different places, depending on the role of this instance. */
import type { HealthCheck } from '../../../model.ts';
import type { SourcePart, SourceStatus } from '../../../source.ts';
import type { CeleryParts } from '../answers.ts';

/** The present origin of answers. */
export interface Answering {
  readonly parts: CeleryParts;
  /** Changes whenever `parts` are replaced. */
  readonly term: number;
}

const NOT_CONFIGURED: HealthCheck = { ok: null, error: null };
const NO_WORKERS = { ...NOT_CONFIGURED, responding: [], missing: [] };

/** @param now is asked with every read */
export function switchedParts(name: string, now: () => Answering): CeleryParts {
  const part = <Name extends keyof CeleryParts>(key: Name) => ({ name, status: () => statusOf(now(), key) });
  return {
    tasks: {
      ...part('tasks'),
      knowsConditions: true,
      listTasks: (query, context) => now().parts.tasks.listTasks(query, context),
      getTask: (id, context) => now().parts.tasks.getTask(id, context),
      getTaskTree: (id, context) => now().parts.tasks.getTaskTree(id, context),
      getTaskStats: (query, context) => now().parts.tasks.getTaskStats(query, context),
      getActivity: (context) => now().parts.tasks.getActivity(context),
    },
    workers: { ...part('workers'), listWorkers: (context) => now().parts.workers.listWorkers(context) },
    events: {
      ...part('events'),
      listEvents: (query, context) => now().parts.events.listEvents(query, context),
    },
    history: { name, getHistoryStats: (context) => now().parts.history.getHistoryStats(context) },
    queues: { ...part('queues'), listQueues: (context) => now().parts.queues.listQueues(context) },
    schedules: {
      ...part('schedules'),
      listSchedules: (context) => now().parts.schedules.listSchedules(context),
    },
    health: {
      name,
      checkBroker: (context) => now().parts.health.checkBroker?.(context) ?? NOT_CONFIGURED,
      checkBackend: (context) => now().parts.health.checkBackend?.(context) ?? NOT_CONFIGURED,
      checkWorkers: (context) => now().parts.health.checkWorkers?.(context) ?? NO_WORKERS,
    },
    components: { name, listComponents: (context) => now().parts.components.listComponents(context) },
  };
}

/** Revisions of different terms are not comparable. */
function statusOf({ parts, term }: Answering, key: keyof CeleryParts): SourceStatus {
  const part: SourcePart = parts[key];
  const status = part.status?.() ?? { ok: true, asOf: new Date() };
  const { revision } = status;
  return revision === undefined ? status : { ...status, revision: `${term}:${revision}` };
}
