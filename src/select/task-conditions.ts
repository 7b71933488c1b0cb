/** Checks the conditions of a list, in time linear in the length of the texts: prefixes are not regular expressions. */
import type { Task } from '../model.ts';
import {
  type ConditionFigure,
  type ConditionText,
  type FigureCondition,
  isFigureCondition,
  type TextCondition,
} from '../source/task-condition.ts';
import type { TaskQuery } from '../source/task-query.ts';
import { waitSecondsOf } from './task-wait.ts';

/**
 * Whether a task meets all conditions of a query. An unknown figure is in no range, and a task whose worker is unknown
 * passes `not_worker`. Conditions on `source` are checked before a source is read, and count as met.
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
