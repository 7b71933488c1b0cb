import type { History, TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { Task, TaskDetail } from '../../src/model.ts';
import type { ReadContext, TaskPage, TaskQuery } from '../../src/source.ts';
import { queryOf } from '../helpers/task-query.ts';

export { queryOf as query } from '../helpers/task-query.ts';

/** A moment that tests count from: 2026-11-21T02:00:00Z. */
export const T0 = Date.UTC(2026, 10, 21, 2);

export const CONTEXT: ReadContext = { signal: new AbortController().signal };

/** A message about task `a` by an event, unless said otherwise. */
export function told(change: Partial<TaskChange> & Pick<TaskChange, 'type'>): TaskChange {
  return { id: 'a', time: T0, origin: 'event', ...change };
}

/** A history with a clock that stands still, and what was told already taken in. */
export function historyOf(changes: readonly TaskChange[], options: MemoryHistoryOptions = {}): History {
  const history = createMemoryHistory({ now: () => T0 + 60_000, ...options });
  for (const change of changes) history.writer.recordTask(change);
  return history;
}

export async function page(history: History, part: Partial<TaskQuery> = {}): Promise<TaskPage> {
  return await history.reader.listTasks(queryOf(part), CONTEXT);
}

export async function taskOf(changes: readonly TaskChange[], id = 'a'): Promise<TaskDetail> {
  const history = historyOf(changes);
  const task = await history.reader.getTask(id, CONTEXT);
  history.close();
  if (task === null) throw new Error(`task ${id} is not known`);
  return task;
}

/** The task of each list of messages. All are in one history, because creating a history costs more than reading it. */
export async function tasksOf(lists: readonly (readonly TaskChange[])[]): Promise<TaskDetail[]> {
  const history = historyOf(
    lists.flatMap((changes, at) => changes.map((change) => ({ ...change, id: `a-${at}` }))),
  );
  const tasks = await Promise.all(lists.map((_, at) => history.reader.getTask(`a-${at}`, CONTEXT)));
  history.close();
  return tasks.map((task) => {
    if (task === null) throw new Error('a task is not known');
    return { ...task, id: 'a' };
  });
}

/** Every order of a few messages. */
export function orders<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, at) =>
    orders([...items.slice(0, at), ...items.slice(at + 1)]).map((rest) => [item, ...rest]),
  );
}

export const idsOf = (tasks: readonly Task[]): string[] => tasks.map((task) => task.id);
