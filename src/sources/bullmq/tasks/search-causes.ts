import { passesConditions } from '../../../select/task-conditions.ts';
import type { TaskQuery } from '../../../source.ts';

/** Redis has no index of causes: they are matched like a searched text, by the rows of failed jobs. */
export function searchCauses(query: TaskQuery): TaskQuery {
  const { causes, causeOf, states, q, search } = query;
  const conditions = query.conditions.filter(({ field }) => field === 'cause');
  if (causes.length + conditions.length === 0) return query;
  return Object.freeze({
    ...query,
    causes: [],
    conditions: query.conditions.filter(({ field }) => field !== 'cause'),
    states: causes.length > 0 && states.length === 0 ? ['FAILURE'] : states,
    q: q ?? '',
    search: (task: Parameters<TaskQuery['search']>[0]) =>
      (causes.length === 0 || causes.includes(causeOf(task)?.id ?? '')) &&
      passesConditions(task, { conditions, causeOf }) &&
      search(task),
  });
}
