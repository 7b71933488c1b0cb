import type { Task } from '../model.ts';
import type { TaskQuery } from '../source.ts';
import { passesConditions } from './task-conditions.ts';

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
