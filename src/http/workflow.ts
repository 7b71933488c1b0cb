/** The workflow of a task, as answers need it. */
import type { GraphView } from '../graph-updates.ts';
import type { TaskTree } from '../model.ts';
import { createJsonList, type JsonList, type Serializer } from '../serialize.ts';
import type { TaskSource } from '../source.ts';

/** Approximate memory of a task, its links and its relations, in bytes. */
const BYTES_PER_TASK = 1_024;

/** A task source that has workflows. */
export type TreeSource = TaskSource & Required<Pick<TaskSource, 'getTaskTree'>>;

/** JSON of a workflow that answers share. */
export type SharedJson = 'nodes' | 'updates' | 'relations';

/** The workflow of a task, and the JSON of its parts, as far as answers have needed it. */
export interface Workflow extends Readonly<Record<SharedJson, JsonList>> {
  /** Number of the read. */
  readonly number: number;
  readonly taskId: string;
  readonly view: GraphView;
}

/** The workflow of a graph; its JSON is not written yet. */
export function createWorkflow(
  number: number,
  taskId: string,
  view: GraphView,
  serializer: Serializer,
): Workflow {
  const { nodes, shape } = view.graph;
  return {
    number,
    taskId,
    view,
    nodes: createJsonList(nodes, (node) => JSON.stringify(serializer.graphNode(node))),
    updates: createJsonList(nodes, (node) => JSON.stringify(serializer.nodeUpdate(node))),
    relations: createJsonList(shape.relations, (one) => JSON.stringify(serializer.relation(one))),
  };
}

/** Approximate memory of a workflow, in bytes. */
export function bytesOf(workflow: Workflow | null): number {
  if (workflow === null) return BYTES_PER_TASK;
  const { view, nodes, updates, relations } = workflow;
  const jsonBytes = nodes.bytes + updates.bytes + relations.bytes;
  return view.graph.tasks.size * BYTES_PER_TASK + jsonBytes;
}

/** The root id of a task of the workflow; `null` when the workflow does not show it. */
export function rootIdOf({ taskId, view: { graph } }: Workflow, askedId: string): string | null {
  if (askedId === taskId) return graph.rootId;
  try {
    const rootId: unknown = graph.tasks.get(askedId)?.task.rootId;
    return typeof rootId === 'string' && rootId !== '' ? rootId : null;
  } catch {
    return null;
  }
}

/** Checks that a source returned a tree. @throws TypeError when it did not */
export function treeOf(given: unknown): TaskTree | null {
  // A source that reads a Map may return undefined.
  if (given === null || given === undefined) return null;
  const { rootId, tasks, relations } = given as Partial<Record<keyof TaskTree, unknown>>;
  const isTree =
    typeof rootId === 'string' &&
    rootId !== '' &&
    Array.isArray(tasks) &&
    (relations === undefined || Array.isArray(relations));
  if (!isTree) throw new TypeError('getTaskTree() must return { rootId, tasks }, or null.');
  return given as TaskTree;
}
