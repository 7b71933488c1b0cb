/** One task, from memory or from a store. */
import type { TaskDetail, TaskRelation } from '../../../model.ts';
import type { Awaitable, ReadContext } from '../../../source.ts';
import { isThenable } from '../../../values.ts';
import { withDetails } from '../../merge/task.ts';
import type { ReaderContext } from './reader-context.ts';
import { isStoreAway } from './store-reads.ts';
import { type ColdTask, rowOf } from './stored-tasks.ts';
import { completed, isStoreAhead } from './unwritten-tasks.ts';

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
  const { reads } = reader;
  const isWhole = known !== null && !isStoreAhead(reader);
  const isInMemory = isWhole || (known === null && reader.memory.readTask(id) !== null);
  const ms = known === null ? undefined : CHILDREN_MS;
  try {
    const [stored, sent, relations] = await Promise.all([
      isInMemory ? [] : reads.read((session) => session.tasks.read([id]), context),
      reads.read((session) => session.tasks.linkedIds('parentId', [id], MOST_CHILDREN), context, ms),
      reads.read((session) => session.relations.read([id], MOST_CHILDREN), context, ms),
    ]);
    const children = childrenIn(reader, id, sent, relations);
    // Memory may not know all that it waits for.
    if (isWhole) return { ...known, children, ...(known.waitsFor && { waitsFor: null }) };
    // It may be in memory by now. Two instances that first wrote it at midnight have stored it twice.
    const last = stored.toSorted((a, b) => a.version - b.version || a.day - b.day).at(-1);
    const cold = (last === undefined ? null : completed(reader, last, true)) ?? reader.memory.readTask(id);
    return cold === null ? null : detailOf(cold, children, reader);
  } catch (error) {
    if (known !== null && isStoreAway(error)) return known;
    throw error;
  }
}

function detailOf(cold: ColdTask, children: readonly string[], { memory }: ReaderContext): TaskDetail {
  return withDetails(rowOf(cold, memory), cold.record, children);
}

function childrenIn(
  reader: ReaderContext,
  id: string,
  sent: readonly string[],
  relations: readonly TaskRelation[],
): readonly string[] {
  const { memory } = reader;
  const children = new Set(memory.children(id));
  // What memory knows whole is newer.
  const isNewer = isStoreAhead(reader) ? () => false : memory.has;
  for (const child of sent) if (!isNewer(child)) children.add(child);
  for (const { parent, child, relation } of relations) {
    if (parent === id && relation !== 'group' && relation !== 'chord') children.add(child);
  }
  return [...children];
}
