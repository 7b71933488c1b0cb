/** One task, from memory or from a store. */
import type { TaskDetail, TaskRelation } from '../../../model.ts';
import type { Awaitable, ReadContext } from '../../../source.ts';
import { isThenable } from '../../../values.ts';
import { mergeRecords } from '../../merge/merge-records.ts';
import { withDetails } from '../../merge/task.ts';
import type { StoredTask } from '../../store.ts';
import type { ReaderContext } from './reader-context.ts';
import { isStoreAway } from './store-reads.ts';
import { type ColdTask, readStored, rowOf } from './stored-rows.ts';

/** Most children of a task that are listed: those of the largest graph. */
const MOST_CHILDREN = 20_000;
/** Longest wait for the stored children of a task that memory knows, in milliseconds. */
const CHILDREN_MS = 1_000;
/** Maximum difference between the clocks of senders, in milliseconds. */
const CLOCKS_MS = 60_000;

/** Answers at once where memory knows enough. */
export function getTask(
  reader: ReaderContext,
  id: string,
  context: ReadContext,
): Awaitable<TaskDetail | null> {
  const known = reader.memory.reader.getTask(id, context);
  return isThenable(known)
    ? known.then((task) => withStore(reader, id, task, context))
    : withStore(reader, id, known, context);
}

function withStore(
  reader: ReaderContext,
  id: string,
  known: TaskDetail | null,
  context: ReadContext,
): Awaitable<TaskDetail | null> {
  const isAll = reader.droppedThrough() === Number.NEGATIVE_INFINITY;
  return isAll || (known !== null && isRecent(reader, id)) ? known : readBoth(reader, id, known, context);
}

/** Whether a task began so late that memory knows everything that it led to. */
export function isRecent({ memory, droppedThrough }: ReaderContext, id: string): boolean {
  const first = memory.firstTime(id);
  return first !== null && first - CLOCKS_MS > droppedThrough();
}

async function readBoth(
  reader: ReaderContext,
  id: string,
  known: TaskDetail | null,
  context: ReadContext,
): Promise<TaskDetail | null> {
  const { memory, reads } = reader;
  const dropped = known === null ? (reader.droppedTasks().get(id)?.read() ?? null) : null;
  const isInStore = known === null && dropped === null;
  const ms = known === null ? undefined : CHILDREN_MS;
  try {
    const [stored, sent, relations] = await Promise.all([
      isInStore ? reads.read((session) => session.tasks.read([id]), context) : [],
      reads.read((session) => session.tasks.linkedIds('parentId', [id], MOST_CHILDREN), context, ms),
      reads.read((session) => session.relations.read([id], MOST_CHILDREN), context, ms),
    ]);
    // It may be in memory by now.
    const own = known ?? (await memory.reader.getTask(id, context));
    const cold = own === null ? (dropped ?? readWhole(stored)) : null;
    if (own === null && cold === null) return null;
    const children = childrenIn(reader, id, sent, relations);
    if (own !== null) return { ...own, children };
    return cold === null ? null : detailOf(cold, children, reader);
  } catch (error) {
    if (known !== null && isStoreAway(error)) return known;
    throw error;
  }
}

/** Two instances may have stored a task on two days. @param stored with long texts; of one task */
function readWhole(stored: readonly StoredTask[]): ColdTask | null {
  let whole: ColdTask | null = null;
  for (const task of stored) {
    const cold = readStored(task, true);
    if (cold === null) continue;
    whole =
      whole === null
        ? cold
        : { ...cold, record: mergeRecords(whole.record, cold.record), rootId: cold.rootId ?? whole.rootId };
  }
  return whole;
}

function detailOf(cold: ColdTask, children: readonly string[], { memory }: ReaderContext): TaskDetail {
  return withDetails(rowOf(cold, memory), cold.record, children);
}

function childrenIn(
  { memory, droppedTasks }: ReaderContext,
  id: string,
  sent: readonly string[],
  relations: readonly TaskRelation[],
): readonly string[] {
  const children = new Set(memory.children(id));
  for (const [child, { parentId }] of droppedTasks()) if (parentId === id) children.add(child);
  // The data in memory is newer.
  for (const child of sent) if (!memory.has(child)) children.add(child);
  for (const { parent, child, relation } of relations) {
    if (parent === id && relation !== 'group' && relation !== 'chord') children.add(child);
  }
  return [...children];
}
