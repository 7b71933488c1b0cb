/** The workflow of a task, with what of it still waits in queues. */
import type { Task, TaskRelation, TaskTree } from '../../../model.ts';
import type { HeldMessage } from './held-message.ts';

/** Most tasks of a workflow: the largest graph that the API shows. */
const MAX_TASKS = 20_000;
/** Workflows of the history that waiting tasks may join to one. */
const MAX_TREES = 20;

/** Waiting tasks whose relatives are looked for in the history by what these say of themselves. */
const MAX_ASKED = 100;

/** Where the parts of a workflow are found. */
export interface TreeParts {
  /** A task of the history that names this parent, or this group. */
  readChild(parentId: string): Promise<string | null>;
  readMember(groupId: string): Promise<string | null>;
  /** What the history knows of the workflow of a task. */
  readTree(id: string): Promise<TaskTree | null>;
  isKnown(id: string): boolean;
  get(id: string): HeldMessage | undefined;
  related(id: string): readonly HeldMessage[];
  row(message: HeldMessage): Task | null;
}

/**
 * @param tree what the history knows; `null` when it does not know the task
 * @param asked the message of the task, if it is known only from its queue
 */
export async function treeWithWaiting(
  id: string,
  tree: TaskTree | null,
  asked: HeldMessage | null,
  parts: TreeParts,
): Promise<TaskTree> {
  const tasks = new Map<string, Task>();
  const relations: TaskRelation[] = [];
  const ids = new Set<string>([id]);
  let truncated = false;
  let trees = 0;
  let asks = 0;

  function addTree({ tasks: more, relations: told = [], truncated: isCut }: TaskTree): void {
    for (const task of more) {
      tasks.set(task.id, task);
      reach([task.id, task.parentId, task.groupId, task.chordId]);
    }
    for (const relation of told) {
      relations.push(relation);
      reach([relation.parent, relation.child]);
    }
    truncated ||= isCut === true;
  }

  function addMessage(message: HeldMessage): void {
    const { facts } = message;
    if (facts === null || tasks.has(facts.id) || parts.isKnown(facts.id)) return;
    const row = parts.row(message);
    if (row === null) return;
    if (tasks.size >= MAX_TASKS) {
      truncated = true;
      return;
    }
    tasks.set(facts.id, row);
    reach([facts.id, facts.parentId, facts.groupId, facts.chordId]);
    for (const relation of message.relations) {
      relations.push(relation);
      reach([relation.parent, relation.child]);
    }
  }

  function reach(more: readonly (string | null | undefined)[]): void {
    for (const other of more) if (other != null && ids.size < 4 * MAX_TASKS) ids.add(other);
  }

  /** The history holds its tasks together, but not over one that it does not know. */
  async function reachKnown({ facts }: HeldMessage): Promise<void> {
    if (facts === null || parts.isKnown(facts.id) || asks >= MAX_ASKED) return;
    asks += 1;
    reach([await parts.readChild(facts.id)]);
    if (facts.groupId != null) reach([await parts.readMember(facts.groupId)]);
  }

  if (tree !== null) addTree(tree);
  if (asked !== null) addMessage(asked);
  // A set is walked in the order of insertion, also over what is added on the way.
  for (const current of ids) {
    const own = parts.get(current);
    if (own !== undefined) {
      addMessage(own);
      await reachKnown(own);
    }
    for (const message of parts.related(current)) {
      const { parentId, groupId, chordId } = message.facts ?? {};
      // A common root is no relation.
      if (parentId === current || groupId === current || chordId === current) addMessage(message);
    }
    if (truncated || tasks.has(current) || !parts.isKnown(current)) continue;
    if (trees >= MAX_TREES) {
      truncated = true;
      continue;
    }
    trees += 1;
    const other = await parts.readTree(current);
    if (other !== null) addTree(other);
  }
  return {
    rootId: tree?.rootId ?? asked?.facts?.rootId ?? id,
    tasks: [...tasks.values()],
    relations,
    truncated,
  };
}
