import type { TaskEvent } from '../../../model.ts';
import type { TaskEventQuery } from '../../../source.ts';

/** Whether an item passes the filters of a query. */
export function matcherOf({ states, workers, tasks }: TaskEventQuery): (event: TaskEvent) => boolean {
  const has = (values: readonly string[], value: string | null | undefined): boolean =>
    values.length === 0 || (value != null && values.includes(value));
  return ({ state, worker, task }) => has(states, state) && has(workers, worker) && has(tasks, task);
}
