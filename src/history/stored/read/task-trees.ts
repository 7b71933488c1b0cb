/** The workflow of a task, from memory and a store. */
import type { Task, TaskTree } from '../../../model.ts';
import { scheduler } from '../../../scheduler.ts';
import type { Awaitable, ReadContext } from '../../../source.ts';
import { isThenable } from '../../../values.ts';
import type { ReaderContext } from './reader-context.ts';
import { isStoreAway } from './store-reads.ts';
import { isRecent } from './task-details.ts';
import { findWorkflow } from './workflow-nodes.ts';
import { readRows, withTracebacks } from './workflow-rows.ts';
import { createWorkflowSearch, hasMore, rowIn, searchOn } from './workflow-search.ts';

/** Most times that the store is asked. A workflow of so many steps without a common root is listed in part. */
const MOST_ROUNDS = 64;

/** Answers without the store if memory knows the whole workflow. */
export function getTaskTree(
  reader: ReaderContext,
  id: string,
  context: ReadContext,
): Awaitable<TaskTree | null> {
  const known = reader.memory.reader.getTaskTree(id, context);
  return isThenable(known)
    ? known.then((tree) => withStore(reader, id, tree, context))
    : withStore(reader, id, known, context);
}

function withStore(
  reader: ReaderContext,
  id: string,
  known: TaskTree | null,
  context: ReadContext,
): Awaitable<TaskTree | null> {
  const isAll = reader.droppedThrough() === Number.NEGATIVE_INFINITY;
  return isAll || (known !== null && isWhole(reader, known)) ? known : readBoth(reader, id, known, context);
}

/** The consequences of a task happened later, so memory knows all of them if it knows the beginning of the workflow. */
function isWhole(reader: ReaderContext, { rootId, tasks, truncated }: TaskTree): boolean {
  if (truncated === true) return true;
  const ids = new Set(tasks.map(({ id }) => id));
  const isKnown = (id: string | null | undefined): boolean =>
    id == null || ids.has(id) || reader.known.get(id) === false;
  return isKnown(rootId) && tasks.every(({ id, parentId }) => isKnown(parentId) && isRecent(reader, id));
}

async function readBoth(
  reader: ReaderContext,
  id: string,
  known: TaskTree | null,
  context: ReadContext,
): Promise<TaskTree | null> {
  const search = createWorkflowSearch(reader, id);
  try {
    for (let round = 0; round < MOST_ROUNDS && hasMore(search); round++) await searchOn(search, context);
    const { nodes, relations, stored, isCut } = search;
    if (!nodes.has(id)) return null;
    const rows = await readRows(reader, [...stored], context);
    const rowOfNode = (other: string): Task | null => rowIn(search, other) ?? rows.get(other) ?? null;
    const work = findWorkflow(id, nodes, relations.values(), rowOfNode);
    const tree = await scheduler.run('workflow', work, context);
    const tasks = await withTracebacks(reader, tree.tasks, (other) => stored.has(other), context);
    return { ...tree, tasks, truncated: tree.truncated === true || isCut || hasMore(search) };
  } catch (error) {
    // Memory has a part of the workflow, and the answer says so.
    if (known !== null && isStoreAway(error)) return { ...known, truncated: true };
    throw error;
  }
}
