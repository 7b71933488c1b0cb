/** The deployment that this process collects from. */
import type { HistoryIndex, HistoryReader } from '../../history/history.ts';
import { redactSchedule } from '../../redact.ts';
import type { QueueSource, ScheduleSource } from '../../source.ts';
import type { Broker } from './broker.ts';
import type { Collection } from './collection.ts';
import { type ComponentsOptions, createComponents } from './components.ts';
import type { Deployment, Sight } from './deployment.ts';
import { createHealth } from './health.ts';
import { waitingGroups } from './queues/oldest-due.ts';
import type { ResultBackend } from './result-backend.ts';

/** Its parts. */
export interface LiveDeploymentOptions extends ComponentsOptions {
  readonly reader: HistoryReader;
  readonly index: Pick<HistoryIndex, 'sentAt'>;
  readonly collection: Collection;
  /** Used only by health checks; `null` if it cannot be read. */
  readonly broker: Broker | null;
  readonly backend: ResultBackend | null;
}

/** A deployment of which everything is collected here. */
export function createLiveDeployment(options: LiveDeploymentOptions): Deployment {
  const { name, reader, index, collection, broker, backend } = options;
  const { collector, control, queues, results } = collection;
  return {
    status: collector.status,
    workerStatus: collector.workerStatus,
    waiting: queues?.listsMessages === true ? queues : null,
    queues: queueSource(name, collection),
    schedules: scheduleSource(options),
    health: createHealth({ name, reader, collector, broker, backend, ping: control?.ping ?? null }),
    components: createComponents(options),
    sight: () => sightOf(collection, index),
    withLookup: (tasks) => results?.withLookup(tasks) ?? tasks,
    withInspection: (workers) => control?.inspection.withInspection(workers) ?? workers,
  };
}

/** Messages on Celery's queues carry no time at which they were sent, so the age of the oldest is unknown. */
function queueSource(name: string, { queues, snapshot }: Collection): QueueSource {
  return {
    name,
    status() {
      const { ok, asOf } = snapshot().queues;
      return { ok, asOf, error: ok ? null : 'source_unavailable' };
    },
    async listQueues() {
      queues?.asked();
      await queues?.ready();
      const { rows, asOf } = snapshot().queues;
      return rows.map((row) => ({ ...row, oldestDueAt: null, asOf }));
    },
  };
}

function scheduleSource({ collection, redactor }: LiveDeploymentOptions): ScheduleSource {
  const { source } = collection.schedules;
  return {
    ...source,
    async listSchedules(context) {
      const listed = await source.listSchedules(context);
      return listed?.map((schedule) => redactSchedule(schedule, redactor)) ?? null;
    },
  };
}

/**
 * Tasks wait where their messages are; a task that waits according to the history may have run unobserved. If messages
 * cannot be listed, the history decides.
 */
function sightOf({ blind, queues }: Collection, index: Pick<HistoryIndex, 'sentAt'>): Sight {
  if (queues === null) return { blind: blind(), waiting: null };
  // The queues are read less often without requests.
  queues.asked();
  if (!queues.listsMessages) return { blind: blind(), waiting: null };
  return { blind: blind(), waiting: waitingGroups(queues.index().messages, index.sentAt, Date.now()) };
}
