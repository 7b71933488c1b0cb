import { emptyRecord } from '../../merge/record-fields.ts';
/** Puts tasks from memory and a store into a separate history, which finds their workflow. */
import type { Task, TaskRelation, TaskTree } from '../../../model.ts';
import type { Steps } from '../../../scheduler.ts';
import { workflowOf } from '../../answers/workflow.ts';
import { createMemoryState, type MemoryState } from '../../memory/memory-state.ts';
import { canvasOf } from '../../memory/write-relatives.ts';
import { holdRecord } from '../../table/held-records.ts';
import { allocateSlot } from '../../table/records.ts';

/** The relations of a task. */
export type WorkflowNode = Pick<Task, 'id' | 'parentId' | 'rootId' | 'groupId' | 'chordId'>;

/** Tasks that are indexed between two pauses. */
const NODES_AT_ONCE = 32;
/** Relations that are added between two pauses. */
const RELATIONS_AT_ONCE = 256;

/**
 * Finds the workflow of a task among others.
 *
 * @param nodes the task is one of them
 * @param rowOf the row of a task as it is now; `null`: it is no longer known
 */
export function* findWorkflow(
  id: string,
  nodes: ReadonlyMap<string, WorkflowNode>,
  relations: Iterable<TaskRelation>,
  rowOf: (id: string) => Task | null,
): Steps<TaskTree> {
  const state = createMemoryState({
    ...{ maxTasks: nodes.size + 1, maxBytes: Number.MAX_SAFE_INTEGER, maxAgeMs: Number.MAX_SAFE_INTEGER },
    ...{ maxEvents: 1, maxWorkers: 1, now: Date.now },
  });
  yield* addRelations(state, relations);
  yield* addNodes(state, nodes.values());
  const { records, roots } = state.tables;
  const passing = roots.passing();
  if (passing !== null) yield;
  const tree = yield* workflowOf(records.slots.get(id) as number, state.tables);
  const tasks: Task[] = [];
  for (const [at, node] of tree.tasks.entries()) {
    const row = rowOf(node.id);
    if (row !== null) tasks.push(related(row, node));
    if (at % NODES_AT_ONCE === NODES_AT_ONCE - 1) yield;
  }
  return { ...tree, tasks };
}

function* addRelations({ tables }: MemoryState, relations: Iterable<TaskRelation>): Steps<void> {
  let added = 0;
  for (const { parent, child, relation } of relations) {
    if (parent !== null) tables.relations.add(parent, child, relation);
    if (++added % RELATIONS_AT_ONCE === 0) yield;
  }
}

function* addNodes({ tables }: MemoryState, nodes: Iterable<WorkflowNode>): Steps<void> {
  const { records, relations } = tables;
  let added = 0;
  for (const { id, parentId = null, rootId = null, groupId = null, chordId = null } of nodes) {
    const record = Object.assign(emptyRecord(id), { parentId, rootId, groupId, chordId });
    if (relations.has(id)) {
      const canvas = canvasOf(id, relations);
      record.groupId ??= canvas.groupId;
      record.chordId ??= canvas.chordId;
    }
    holdRecord(records.held, allocateSlot(records, id), record, 0);
    if (++added % NODES_AT_ONCE !== 0) continue;
    tables.catchUp();
    yield;
  }
  tables.catchUp();
}

/** A row with the relatives that only other tasks name. */
function related(row: Task, node: Task): Task {
  const isWhole = RELATIVES.every((field) => row[field] != null || node[field] == null);
  if (isWhole) return row;
  const found = RELATIVES.map((field) => [field, row[field] ?? node[field] ?? null]);
  return Object.freeze({ ...row, ...Object.fromEntries(found) });
}

const RELATIVES = ['rootId', 'groupId', 'chordId'] as const;
