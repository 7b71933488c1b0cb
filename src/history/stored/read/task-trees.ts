/** The workflow of a task, from memory and a store. */
import type { Task, TaskTree } from '../../../model.ts';
import { scheduler } from '../../../scheduler.ts';
import type { Awaitable, ReadContext } from '../../../source.ts';
import { isThenable } from '../../../values.ts';
import { WHOLE_AT_ONCE } from '../../store.ts';
import type { ReaderContext } from './reader-context.ts';
import { isStoreAway } from './store-reads.ts';
import { readStored, rowOf } from './stored-rows.ts';
import { isRecent } from './task-details.ts';
import { findWorkflow } from './workflow-nodes.ts';
import { createWorkflowSearch, hasMore, rowIn, searchOn, type WorkflowSearch } from './workflow-search.ts';

/** Most times that the store is asked. A workflow of so many steps without a common root is listed in part. */
const MOST_ROUNDS = 64;
/** Most tasks whose long texts are read: the end of a traceback is shown. */
const MOST_WHOLE = 1_000;

/** Answers without the store where memory knows the whole workflow. */
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

/** What a task led to happened later than it did, so memory knows all of it if it knows where the workflow began. */
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
    const { nodes, relations, isCut } = search;
    if (!nodes.has(id)) return null;
    const rowOfNode = (other: string): Task | null => rowIn(search, other);
    const work = findWorkflow(id, nodes, relations.values(), rowOfNode);
    const tree = await scheduler.run('workflow', work, context);
    const tasks = await withTracebacks(search, tree.tasks, context);
    return { ...tree, tasks, truncated: tree.truncated === true || isCut || hasMore(search) };
  } catch (error) {
    // Memory has a part of the workflow, and says so.
    if (known !== null && isStoreAway(error)) return { ...known, truncated: true };
    throw error;
  }
}

/** Reads the whole texts of tasks that failed with a long traceback. */
async function withTracebacks(
  { reader, stored }: WorkflowSearch,
  tasks: readonly Task[],
  context: ReadContext,
): Promise<readonly Task[]> {
  const cut = tasks.filter(
    ({ id, truncated }) => stored.has(id) && truncated?.includes('traceback') === true,
  );
  if (cut.length === 0) return tasks;
  const ids = cut.slice(0, MOST_WHOLE).map(({ id }) => id);
  const whole = new Map<string, Task>();
  for (let at = 0; at < ids.length; at += WHOLE_AT_ONCE) {
    const batch = ids.slice(at, at + WHOLE_AT_ONCE);
    for (const task of await reader.reads.read((session) => session.tasks.read(batch), context)) {
      const cold = readStored(task, true);
      if (cold !== null) whole.set(task.id, rowOf(cold, reader.memory));
    }
  }
  return tasks.map((task) => {
    const { rootId = null, groupId = null, chordId = null } = task;
    const row = whole.get(task.id);
    return row === undefined ? task : Object.freeze({ ...row, rootId, groupId, chordId });
  });
}
