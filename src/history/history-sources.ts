import type { HistorySource, SourceStatus, TaskEventSource, TaskSource, WorkerSource } from '../source.ts';
import type { HistoryPart, HistoryReader } from './history.ts';

/** The parts of a source that a history answers. */
export interface HistorySources {
  readonly tasks: TaskSource & Required<Pick<TaskSource, 'getTaskTree' | 'getTaskStats' | 'getActivity'>>;
  readonly workers: WorkerSource;
  readonly events: TaskEventSource;
  readonly history: HistorySource;
}

/** Everything that was shown before is gone. */
const CLOSED: SourceStatus = { ok: false, asOf: null, error: 'source_unavailable' };

/**
 * Makes the parts of a source from a history.
 *
 * @param name name of the source
 * @param reader answers every read
 * @param connection whether the source is connected, and up to when the history is complete. Default: always
 *   connected, complete up to now.
 */
export function historySources(
  name: string,
  reader: HistoryReader,
  connection?: () => Pick<SourceStatus, 'ok' | 'asOf' | 'error'>,
): HistorySources {
  const statusNow = connection ?? (() => ({ ok: true, asOf: new Date() }));
  const status = (part: HistoryPart) => (): SourceStatus =>
    reader.isClosed() ? CLOSED : { ...statusNow(), ...reader.freshness(part) };
  return {
    tasks: {
      name,
      knowsConditions: true,
      status: status('tasks'),
      listTasks: (query, context) => reader.listTasks(query, context),
      getTask: (id, context) => reader.getTask(id, context),
      getTaskTree: (id, context) => reader.getTaskTree(id, context),
      getTaskStats: (query, context) => reader.getTaskStats(query, context),
      getActivity: (context) => reader.getActivity(context),
    },
    workers: { name, status: status('workers'), listWorkers: (context) => reader.listWorkers(context) },
    events: {
      name,
      status: status('events'),
      listEvents: (query, context) => reader.listEvents(query, context),
    },
    history: { name, getHistoryStats: (context) => reader.getStats(context) },
  };
}
