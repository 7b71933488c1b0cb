/** Applies the query of a list to tasks: its filters, its conditions and its order. */
import type { Task } from '../model.ts';
import { isCombined } from '../source/combined-part.ts';
import {
  type ConditionFigure,
  type ConditionText,
  type FigureCondition,
  isFigureCondition,
  type TaskCondition,
  type TextCondition,
} from '../source/task-condition.ts';
import type { TaskQuery } from '../source/task-query.ts';
import type { TaskPosition, TaskSort, TaskSource } from '../source.ts';
import { waitSecondsOf } from './durations.ts';

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

/** Whether a task passes every filter of a query, text and time included. */
export function passesFilters(task: Task, query: TaskQuery): boolean {
  return (
    isOneOf(task.state, query.states) &&
    isOneOf(task.engineState, query.engineStates) &&
    isOneOf(task.name, query.names) &&
    isOneOf(task.worker, query.workers) &&
    isOneOf(task.queue, query.queues) &&
    (query.causes.length === 0 || isOneOf(query.causeOf(task)?.id, query.causes)) &&
    isThat(task.rootId, query.rootId) &&
    // A task is not its own parent.
    isThat(task.parentId === task.id ? null : task.parentId, query.parentId) &&
    isThat(task.groupId, query.groupId) &&
    isWithin(task.timestamp, query.since, query.until) &&
    passesConditions(task, query) &&
    (query.q === null || query.search(task))
  );
}

function isOneOf(value: string | null | undefined, wanted: readonly string[]): boolean {
  return wanted.length === 0 || (value != null && wanted.includes(value));
}

function isThat(value: string | null | undefined, wanted: string | null): boolean {
  return wanted === null || value === wanted;
}

function isWithin(time: Date | null | undefined, since: Date | null, until: Date | null): boolean {
  if (since === null && until === null) return true;
  if (time == null) return false;
  return (since === null || time >= since) && (until === null || time < until);
}

/**
 * Whether a task meets all conditions of a query, in time linear in the length of the texts: prefixes are not regular
 * expressions. An unknown figure is in no range, and a task whose worker is unknown passes `not_worker`. Conditions on
 * `source` are checked before a source is read, and count as met.
 *
 * @param task as its source lists it
 */
export function passesConditions(
  task: Task,
  { conditions, causeOf }: Pick<TaskQuery, 'conditions' | 'causeOf'>,
): boolean {
  return conditions.every((condition) => {
    if (isFigureCondition(condition)) return holdsFigure(condition, figureOf(task, condition.field));
    const { field } = condition;
    if (field === 'source') return true;
    return holdsText(condition, field === 'cause' ? (causeOf(task)?.id ?? null) : textOf(task, field));
  });
}

/** @param text as shown in a row; `null`: unknown */
export function holdsText({ values, prefixes, isNegated }: TextCondition, text: string | null): boolean {
  if (text === null) return isNegated;
  return (values.includes(text) || prefixes.some((prefix) => text.startsWith(prefix))) !== isNegated;
}

/** @param figure as shown in a row; `null` or `NaN`: unknown */
export function holdsFigure({ comparison, than }: FigureCondition, figure: number | null): boolean {
  if (figure === null) return false;
  if (comparison === 'gt') return figure > than;
  if (comparison === 'gte') return figure >= than;
  return comparison === 'lt' ? figure < than : figure <= than;
}

function textOf(task: Task, field: Exclude<ConditionText, 'source' | 'cause'>): string | null {
  const text: unknown = task[field];
  return typeof text === 'string' && text !== '' ? text : null;
}

/** A figure as shown in a row; `null`: unknown. */
function figureOf(task: Task, field: ConditionFigure): number | null {
  if (field === 'retries') return Number.isSafeInteger(task.retries) ? (task.retries as number) : null;
  const figure = field === 'wait' ? waitSecondsOf(task) : task.runtime;
  return typeof figure === 'number' && Number.isFinite(figure) ? figure : null;
}

/** The value that a task is sorted by: milliseconds, seconds or text; `null` when it has none. */
export function sortKeyOf(task: Task, sort: TaskSort): number | string | null {
  const value = task[sort];
  if (value == null) return null;
  const key = value instanceof Date ? value.getTime() : value;
  return Number.isNaN(key) ? null : key;
}

/** Compares two positions: by key in the given order, `null` last in both orders, equal keys by id ascending. */
export function comparePositions(a: TaskPosition, b: TaskPosition, order: 'asc' | 'desc'): number {
  if (a.key !== b.key) {
    if (a.key === null) return 1;
    if (b.key === null) return -1;
    return (a.key < b.key ? -1 : 1) * (order === 'asc' ? 1 : -1);
  }
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
