/** The first and the last tasks of a canvas that is not sent yet. */
import type { Signature } from './messages.ts';

/** Deepest nesting that is read. */
export const MAX_CANVAS_DEPTH = 32;

/** Ids of the tasks that run first; for a chord, of its header. Tasks without an id are left out. */
export function firstTasks(signature: Signature, depth = 0): string[] {
  const { type, tasks, taskId } = signature;
  if (depth > MAX_CANVAS_DEPTH) return [];
  if (type === 'chain') return tasks[0] === undefined ? [] : firstTasks(tasks[0], depth + 1);
  if (type === 'group' || type === 'chord') return tasks.flatMap((task) => firstTasks(task, depth + 1));
  return taskId === null ? [] : [taskId];
}

/** Ids of the tasks that run last; for a chord, of its body. Tasks without an id are left out. */
export function lastTasks(signature: Signature, depth: number): string[] {
  const { type, tasks, body, taskId } = signature;
  if (depth > MAX_CANVAS_DEPTH) return [];
  if (type === 'chord') return body === null ? [] : lastTasks(body, depth + 1);
  if (type === 'group') return tasks.flatMap((task) => lastTasks(task, depth + 1));
  const last = tasks.at(-1);
  if (type === 'chain') return last === undefined ? [] : lastTasks(last, depth + 1);
  return taskId === null ? [] : [taskId];
}
