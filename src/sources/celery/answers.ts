/** The answering half of the source: its parts, made of the history and of the collector's snapshot. */
import type { HistoryIndex, HistoryReader } from '../../history/history.ts';
import { historySources } from '../../history/history-sources.ts';
import { withInstanceWalks } from '../../history/instance-walks.ts';
import { redactSchedule } from '../../redact.ts';
import type { MonitorSources, QueueSource } from '../../source.ts';
import { readActivity } from './activity.ts';
import type { Broker } from './broker.ts';
import type { Collection } from './collection.ts';
import { type ComponentsOptions, createComponents } from './components.ts';
import { createHealth } from './health.ts';
import { withWaiting } from './queues/waiting-tasks.ts';
import type { ResultBackend } from './result-backend.ts';

/** The parts that a Celery source answers. */
export type CeleryParts = Required<Omit<MonitorSources, 'close'>>;

/** What answers are made of. */
export interface AnswersOptions extends ComponentsOptions {
  readonly reader: HistoryReader;
  readonly index: Pick<HistoryIndex, 'sentAt'>;
  readonly collection: Collection;
  /** Asked by health checks alone; `null` where it cannot be read. */
  readonly broker: Broker | null;
  readonly backend: ResultBackend | null;
}

/** Every part of a source. */
export function createAnswers(options: AnswersOptions): CeleryParts {
  const { name, reader, index, collection, broker, backend, redactor } = options;
  const { collector, control, queues, results, schedules } = collection;
  const known = historySources(name, reader, collector.status);
  const { workers } = historySources(name, reader, collector.workerStatus);
  const found = results?.withLookup(known.tasks) ?? known.tasks;
  return {
    ...known,
    tasks: {
      ...withInstanceWalks(queues === null ? found : withWaiting(found, queues, reader), reader.instance),
      getActivity: (context) => readActivity({ reader, index, collection }, context),
    },
    workers: control?.inspection.withInspection(workers) ?? workers,
    schedules: {
      ...schedules.source,
      async listSchedules(context) {
        const listed = await schedules.source.listSchedules(context);
        return listed?.map((schedule) => redactSchedule(schedule, redactor)) ?? null;
      },
    },
    queues: queueSource(name, collection),
    health: createHealth({ name, reader, collector, broker, backend, ping: control?.ping ?? null }),
    components: createComponents(options),
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
