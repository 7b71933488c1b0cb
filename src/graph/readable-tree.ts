import { hasFlag, type Task, type TaskRelation, type TaskTree } from '../model.ts';
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

/** Visits items, a few at a time. */
export function* each<Item>(items: Iterable<Item>, visit: (item: Item) => void): Steps<void> {
  let count = 0;
  for (const item of items) {
    visit(item);
    if (++count % ITEMS_PER_STEP === 0) yield;
  }
}

/** Keeps tasks with an id and a state, and relations with a child and a kind. */
export function* readTree({ tasks, relations = [] }: TaskTree): Steps<ReadableTree> {
  const known = new Map<string, ReadableTask>();
  const listed: TaskRelation[] = [];
  // Copies, because the host may change its arrays between two steps.
  yield* each([...tasks], (given) => {
    const task = readTask(given);
    if (task !== null && !known.has(task.links.id)) known.set(task.links.id, task);
  });
  yield* each([...relations], (given) => {
    const relation = readRelation(given);
    if (relation !== null) listed.push(relation);
  });
  return { tasks: known, relations: listed };
}

/** Getters and Proxies of a host may throw: then this part of a task is unknown. */
function readable<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function readTask(given: unknown): ReadableTask | null {
  return readable(() => {
    const task = given as Task;
    const [id, state] = [idOf(task.id), idOf(task.state)];
    if (id === null || state === null) return null;
    const kind = readable(() => kindOf(task), null);
    return {
      task,
      state,
      links: readable(() => linksOf(task, id, kind), linksOf({}, id, kind)),
      rootId: readable(() => idOf(task.rootId), null),
      isEndUnseen: readable(() => hasFlag(task, 'end_unseen'), false),
      isConsequence: readable(() => hasFlag(task, 'consequence'), false),
    };
  }, null);
}

function linksOf({ parentId, groupId, chordId }: Partial<Task>, id: string, kind: Links['kind']): Links {
  return { id, parentId: idOf(parentId), groupId: idOf(groupId), chordId: idOf(chordId), kind };
}

const TASK_KINDS: readonly unknown[] = ['map', 'starmap', 'chunks'];

/** A source may set any kind on a task, but only virtual nodes are groups or chords. */
function kindOf({ kind = null }: Task): GraphNodeKind | null {
  return TASK_KINDS.includes(kind) ? kind : null;
}

function readRelation(given: unknown): TaskRelation | null {
  return readable(() => {
    const { parent, child, relation } = given as Partial<Record<keyof TaskRelation, unknown>>;
    const [childId, kind] = [idOf(child), idOf(relation)];
    if (childId === null || kind === null) return null;
    return { parent: idOf(parent), child: childId, relation: kind };
  }, null);
}

/** Returns a valid id unchanged, `null` for anything else. */
function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_LABEL ? value : null;
}
