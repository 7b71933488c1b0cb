/** Derives the query for one source from a query that may be for several sources with different capabilities. */

import { isCombined } from '../source/combined-part.ts';
import { isFigureCondition, type TaskCondition } from '../source/task-condition.ts';
import type { TaskQuery, TaskSource } from '../source.ts';
import { holdsText, passesConditions } from './task-conditions.ts';

/**
 * The query as a source understands it. A source that does not know conditions applies them with `search`, like
 * searched texts, so that it never returns rows that do not match.
 *
 * @returns `null`: a condition on `source` excludes this source
 */
export function queryOfSource(source: TaskSource, query: TaskQuery): TaskQuery | null {
  // A combination does this for each of its sources.
  if (query.conditions.length === 0 || isCombined(source)) return query;
  if (!query.conditions.every((condition) => asksFor(source.name, condition))) return null;
  const conditions = query.conditions.filter(({ field }) => field !== 'source');
  if (conditions.length === 0 || source.knowsConditions === true) {
    return Object.freeze({ ...query, conditions });
  }
  const search: TaskQuery['search'] = (task) =>
    passesConditions(task, { ...query, conditions }) && query.search(task);
  return Object.freeze({ ...query, conditions, q: query.q ?? '', search });
}

function asksFor(name: string, condition: TaskCondition): boolean {
  return isFigureCondition(condition) || condition.field !== 'source' || holdsText(condition, name);
}
