import type { Task, TaskRelation, TaskTree } from '../model.ts';
import { LONGEST_LABEL } from '../text.ts';

/** What of a tree can be shown: a host's source may put anything into it. */
export interface ReadableTree {
  /** Each id once. */
  readonly tasks: ReadonlyMap<string, Task>;
  readonly relations: readonly TaskRelation[];
}

/** An id; `null` for what is none. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_LABEL ? value : null;
}

/** Leaves out tasks without id or state, and relations without child or kind. */
export function readTree({ tasks, relations = [] }: TaskTree): ReadableTree {
  const readable = new Map<string, Task>();
  for (const task of tasks) if (isTask(task) && !readable.has(task.id)) readable.set(task.id, task);
  return { tasks: readable, relations: relations.flatMap(readRelation) };
}

/** Getters and Proxies may throw. */
function isTask(task: unknown): task is Task {
  try {
    const { id, state } = task as Partial<Record<keyof Task, unknown>>;
    return idOf(id) !== null && idOf(state) !== null;
  } catch {
    return false;
  }
}

function readRelation(given: unknown): TaskRelation[] {
  try {
    const { parent, child, relation } = given as Partial<Record<keyof TaskRelation, unknown>>;
    const [childId, kind] = [idOf(child), idOf(relation)];
    return childId === null || kind === null
      ? []
      : [{ parent: idOf(parent), child: childId, relation: kind }];
  } catch {
    return [];
  }
}
