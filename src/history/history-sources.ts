import type { HistorySource, SourceStatus, TaskEventSource, TaskSource, WorkerSource } from '../source.ts';
import type { HistoryPart, TaskHistory } from './history.ts';

/** The parts of a source that a history answers. */
export interface HistorySources {
  readonly tasks: TaskSource & Required<Pick<TaskSource, 'getTaskTree' | 'getTaskStats'>>;
  readonly workers: WorkerSource;
  readonly events: TaskEventSource;
  readonly history: HistorySource;
}

/**
 * Makes a history readable as a source.
 *
 * @param name name of the source
 * @param history what answers
 * @param connection whether what feeds the history is connected, and since when it was last current.
 *   Default: always connected and current.
 */
export function historySources(
  name: string,
  history: TaskHistory,
  connection?: () => Pick<SourceStatus, 'ok' | 'asOf' | 'error'>,
): HistorySources {
  const current = connection ?? (() => ({ ok: true, asOf: new Date() }));
  const status = (part: HistoryPart) => (): SourceStatus => ({
    ...current(),
    revision: history.revision(part),
    changesAt: history.changesAt(part),
  });
  return {
    tasks: {
      name,
      status: status('tasks'),
      listTasks: (query, context) => history.listTasks(query, context),
      getTask: (id, context) => history.getTask(id, context),
      getTaskTree: (id, context) => history.getTaskTree(id, context),
      getTaskStats: (query, context) => history.getTaskStats(query, context),
    },
    workers: { name, status: status('workers'), listWorkers: (context) => history.listWorkers(context) },
    events: {
      name,
      status: status('events'),
      listEvents: (query, context) => history.listEvents(query, context),
    },
    history: { name, getHistoryStats: () => history.getStats() },
  };
}
