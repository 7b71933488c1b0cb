/** The workflow of a task, with those of its tasks that still wait in queues. */
import type { Task, TaskRelation, TaskTree } from '../../../model.ts';
import type { WaitingMessage } from '../broker.ts';

/** Most tasks of a workflow: the largest graph that the API shows. */
const MAX_TASKS = 20_000;
/** Workflows of the history that waiting tasks may join to one. */
const MAX_TREES = 20;
/** Waiting tasks whose relatives are looked up in the history. */
const MAX_ASKED = 100;

/** Where the parts of a workflow are found. */
export interface TreeParts {
  /** A task of the history that names this parent, or this group. */
  readChild(parentId: string): Promise<string | null>;
  readMember(groupId: string): Promise<string | null>;
  /** Reads a workflow from the history. */
  readTree(id: string): Promise<TaskTree | null>;
  /** Whether the history has a task. */
  isKnown(id: string): Promise<boolean>;
  get(id: string): WaitingMessage | undefined;
  related(id: string): readonly WaitingMessage[];
  row(message: WaitingMessage): Task | null;
}

interface Workflow {
  readonly parts: TreeParts;
  readonly tasks: Map<string, Task>;
  readonly relations: TaskRelation[];
  /** Ids that belong to the workflow, of tasks and of groups. */
  readonly ids: Set<string>;
  truncated: boolean;
  /** Workflows of the history that were read. */
  trees: number;
  /** Waiting tasks whose relatives were looked up. */
  asked: number;
}

/**
 * @param tree the workflow in the history; `null` if it does not have the task
 * @param asked the message of the task, if only its queue has it
 */
export async function treeWithWaiting(
  id: string,
  tree: TaskTree | null,
  asked: WaitingMessage | null,
  parts: TreeParts,
): Promise<TaskTree> {
  const workflow: Workflow = {
    parts,
    tasks: new Map(),
    relations: [],
    ids: new Set([id]),
    truncated: false,
    trees: 0,
    asked: 0,
  };
  if (tree !== null) addTree(workflow, tree);
  if (asked !== null) await addMessage(workflow, asked);
  // A set is iterated in the order of insertion, including ids added meanwhile.
  for (const current of workflow.ids) await follow(workflow, current);
  const { tasks, relations, truncated } = workflow;
  const rootId = tree?.rootId ?? asked?.facts?.rootId ?? id;
  return { rootId, tasks: [...tasks.values()], relations, truncated };
}

/** Adds everything directly related to this id. */
async function follow(workflow: Workflow, id: string): Promise<void> {
  const { parts } = workflow;
  const own = parts.get(id);
  if (own !== undefined) {
    await addMessage(workflow, own);
    await reachKnown(workflow, own);
  }
  for (const message of parts.related(id)) {
    const { parentId, groupId, chordId } = message.facts ?? {};
    // A common root is no relation.
    if (parentId === id || groupId === id || chordId === id) await addMessage(workflow, message);
  }
  if (workflow.truncated || workflow.tasks.has(id) || !(await parts.isKnown(id))) return;
  if (workflow.trees >= MAX_TREES) {
    workflow.truncated = true;
    return;
  }
  workflow.trees += 1;
  const other = await parts.readTree(id);
  if (other !== null) addTree(workflow, other);
}

function addTree(workflow: Workflow, { tasks, relations = [], truncated }: TaskTree): void {
  for (const task of tasks) {
    workflow.tasks.set(task.id, task);
    reach(workflow, [task.id, task.parentId, task.groupId, task.chordId]);
  }
  addRelations(workflow, relations);
  workflow.truncated ||= truncated === true;
}

async function addMessage(workflow: Workflow, message: WaitingMessage): Promise<void> {
  const { facts } = message;
  if (facts === null || workflow.tasks.has(facts.id) || (await workflow.parts.isKnown(facts.id))) return;
  const row = workflow.parts.row(message);
  if (row === null) return;
  if (workflow.tasks.size >= MAX_TASKS) {
    workflow.truncated = true;
    return;
  }
  workflow.tasks.set(facts.id, row);
  reach(workflow, [facts.id, facts.parentId, facts.groupId, facts.chordId]);
  addRelations(workflow, message.relations);
}

function addRelations(workflow: Workflow, relations: readonly TaskRelation[]): void {
  for (const relation of relations) {
    workflow.relations.push(relation);
    reach(workflow, [relation.parent, relation.child]);
  }
}

function reach({ ids }: Workflow, more: readonly (string | null | undefined)[]): void {
  for (const other of more) if (other != null && ids.size < 4 * MAX_TASKS) ids.add(other);
}

/** The history connects its tasks, but not across one that it does not know. */
async function reachKnown(workflow: Workflow, { facts }: WaitingMessage): Promise<void> {
  const { parts } = workflow;
  if (facts === null || workflow.asked >= MAX_ASKED || (await parts.isKnown(facts.id))) return;
  workflow.asked += 1;
  reach(workflow, [await parts.readChild(facts.id)]);
  if (facts.groupId != null) reach(workflow, [await parts.readMember(facts.groupId)]);
}
