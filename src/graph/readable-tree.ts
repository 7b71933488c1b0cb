import type { Task, TaskRelation, TaskTree } from '../model.ts';
import { LONGEST_LABEL } from '../text.ts';

/** The readable part of a tree. A host's source may return anything, such as tasks whose getters throw. */
export interface ReadableTree {
  /** By id, without duplicates. */
  readonly tasks: ReadonlyMap<string, Task>;
  readonly relations: readonly TaskRelation[];
}

/** Returns a valid id as it is, `null` for anything else. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_LABEL ? value : null;
}

/** Keeps tasks with an id and a state, and relations with a child and a kind. */
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
