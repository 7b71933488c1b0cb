/** The request to a store for a query. */

import { isFigureCondition, type TaskCondition } from '../../../source/task-condition.ts';
import type { TaskQuery } from '../../../source.ts';
import type { StoredQuery } from '../../store.ts';

/** The filters, order and position of a query, without its text. */
export function storeQuery(query: TaskQuery, changed: Partial<StoredQuery> = {}): StoredQuery {
  const {
    limit,
    after,
    states,
    names,
    workers,
    queues,
    causes,
    rootId,
    parentId,
    groupId,
    conditions,
    since,
    until,
    sort,
    order,
  } = query;
  return {
    ...{ limit, after, states, names, workers, queues, causes, rootId, parentId, groupId },
    ...{ since, until, sort, order },
    conditions: conditions.filter(isStoredCondition),
    // A version without causes may have left one when the task did not fail after all.
    ...(query.causes.length > 0 && states.length === 0 && { states: ['FAILURE'] }),
    isOpen: false,
    hint: hintOf(query.q),
    ...changed,
  };
}

/** Decided by rows, since a stored task may have no cause yet. */
const NOT_STORED: ReadonlySet<string> = new Set(['engineState', 'cause', 'wait', 'retries']);

/** Whether a store decides a condition: it has the fields by which lists are filtered, and the run time. */
function isStoredCondition({ field }: TaskCondition): boolean {
  return !NOT_STORED.has(field);
}

/** Whether rows of the store have to be read to decide which of them belong to a list. */
export function isDecidedHere({ q, conditions }: Pick<TaskQuery, 'q' | 'conditions'>): boolean {
  return q !== null || !conditions.every(isStoredCondition);
}

/** Whether only tasks with an engine state pass: no recorded task has one. */
export function asksForEngineState({ engineStates, conditions }: TaskQuery): boolean {
  if (engineStates.length > 0) return true;
  return conditions.some(
    (condition) => !isFigureCondition(condition) && condition.field === 'engineState' && !condition.isNegated,
  );
}

/** Letters and digits that JSON, patterns of SQL and lower case leave as they are. */
const PLAIN = /[a-z0-9 ]+/g;
/** A shorter text is in most tasks. */
const SHORTEST_HINT = 3;

/**
 * The longest part of a text searched for that a store can look for: the stored text must contain it unchanged, and
 * databases differ from JavaScript in the lower case of letters beyond ASCII.
 */
function hintOf(q: string | null): string | null {
  let longest = '';
  for (const [part] of q?.matchAll(PLAIN) ?? []) if (part.length > longest.length) longest = part;
  return longest.length < SHORTEST_HINT ? null : longest;
}
