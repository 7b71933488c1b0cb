import { hasFlag, type Task, type TaskFlag, type TaskRelation, type TaskTree } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import { LONGEST_LABEL } from '../text.ts';
import type { GraphNodeKind, Links, ReadableTask } from './graph-types.ts';

/** The readable part of a tree. A host's source may return anything, such as tasks whose getters throw. */
export interface ReadableTree {
  /** By id, without duplicates. */
  readonly tasks: ReadonlyMap<string, ReadableTask>;
  readonly relations: readonly TaskRelation[];
}

/** Items between two pauses: well below a millisecond of work. */
export const ITEMS_PER_STEP = 64;

/** Keeps tasks with an id and a state, and relations with a child and a kind. */
export function* readTree({ tasks, relations = [] }: TaskTree): Steps<ReadableTree> {
  const readable = new Map<string, ReadableTask>();
  const listed: TaskRelation[] = [];
  let count = 0;
  // Copies, because the host may change its arrays between two steps.
  for (const given of [...tasks]) {
    const task = readTask(given);
    if (task !== null && !readable.has(task.links.id)) readable.set(task.links.id, task);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  for (const given of [...relations]) {
    const relation = readRelation(given);
    if (relation !== null) listed.push(relation);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
  return { tasks: readable, relations: listed };
}

/** Getters and Proxies may throw. */
function readTask(given: unknown): ReadableTask | null {
  try {
    const task = given as Task;
    const [id, state] = [idOf(task.id), idOf(task.state)];
    if (id === null || state === null) return null;
    const [isEndUnseen, isConsequence] = [isFlagged(task, 'end_unseen'), isFlagged(task, 'consequence')];
    return { task, state, links: linksOf(id, task), isEndUnseen, isConsequence };
  } catch {
    return null;
  }
}

/** An unreadable flag counts as not set. */
function isFlagged(task: Task, flag: TaskFlag): boolean {
  try {
    return hasFlag(task, flag);
  } catch {
    return false;
  }
}

/** If the getters of a task throw, its links are unknown. */
function linksOf(id: string, task: Task): Links {
  const kind = kindOf(task);
  try {
    const { parentId, groupId, chordId } = task;
    return { id, parentId: idOf(parentId), groupId: idOf(groupId), chordId: idOf(chordId), kind };
  } catch {
    return { id, parentId: null, groupId: null, chordId: null, kind };
  }
}

const TASK_KINDS: readonly unknown[] = ['map', 'starmap', 'chunks'];

/** A source may set any kind on a task, but only virtual nodes are groups or chords. */
function kindOf(task: Task): GraphNodeKind | null {
  try {
    const { kind = null } = task;
    return TASK_KINDS.includes(kind) ? kind : null;
  } catch {
    return null;
  }
}

function readRelation(given: unknown): TaskRelation | null {
  try {
    const { parent, child, relation } = given as Partial<Record<keyof TaskRelation, unknown>>;
    const [childId, kind] = [idOf(child), idOf(relation)];
    return childId === null || kind === null
      ? null
      : { parent: idOf(parent), child: childId, relation: kind };
  } catch {
    return null;
  }
}

/** Returns a valid id unchanged, `null` for anything else. */
function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_LABEL ? value : null;
}
