/** The callers of the tasks of statistics and the tasks that these sent, from memory and a store. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import {
  type CallerFigures,
  countCallers,
  type FamilyNames,
  type SentTask,
  UNKNOWN_CALLERS,
} from '../../../select/callers.ts';
import type { ReadContext } from '../../../source.ts';
import type { StoredRelatives } from '../../store.ts';
import type { ReaderContext } from './reader-context.ts';
import { isStoreAway } from './store-reads.ts';

/** For more tasks, relatives are not searched. */
const MOST_TASKS = 20_000;
/** Most tasks sent by them that are read from the store. */
const MOST_SENT = 20_000;
/** Tasks that are processed between two pauses. */
const TASKS_AT_ONCE = 128;
/** Tasks whose relatives are read at once. */
const BATCH = 1_000;

type Cold = Pick<StoredRelatives, 'id' | 'name' | 'parentId'>;

/** @returns `null` where there are too many of them, or while the store cannot be read */
export async function storedCallers(
  reader: ReaderContext,
  tasks: readonly SentTask[],
  context: ReadContext,
): Promise<CallerFigures> {
  if (tasks.length > MOST_TASKS) return UNKNOWN_CALLERS;
  try {
    const parents = await readParents(reader, tasks, context);
    const sent = await readSent(reader, tasks, context);
    const figures = await scheduler.run('stats', count(), context);
    return sent === null ? { ...figures, callees: null } : figures;

    function* count(): Steps<CallerFigures> {
      return yield* countCallers(tasks, yield* namesIn(reader, parents, sent ?? []));
    }
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    return UNKNOWN_CALLERS;
  }
}

/** The stored parents that memory does not know. */
async function readParents(
  { memory, reads }: ReaderContext,
  tasks: readonly SentTask[],
  context: ReadContext,
): Promise<readonly Cold[]> {
  const ids = new Set(tasks.flatMap(({ parentId }) => parentId ?? []));
  const asked = [...ids].filter((id) => !memory.has(id));
  const parents: Cold[] = [];
  for (let at = 0; at < asked.length; at += BATCH) {
    const batch = asked.slice(at, at + BATCH);
    parents.push(...(await reads.read((session) => session.tasks.relatives(batch), context)));
  }
  return parents;
}

/** The stored tasks that these sent. @returns `null`: there are too many */
async function readSent(
  { reads }: ReaderContext,
  tasks: readonly SentTask[],
  context: ReadContext,
): Promise<readonly Cold[] | null> {
  const sent: Cold[] = [];
  for (let at = 0; at < tasks.length; at += BATCH) {
    const batch = tasks.slice(at, at + BATCH).map(({ id }) => id);
    const most = MOST_SENT + 1 - sent.length;
    const found = await reads.read((session) => session.tasks.linked('parentId', batch, most), context);
    sent.push(...found);
    if (found.length >= most) return null;
  }
  return sent;
}

function* namesIn(
  { memory }: ReaderContext,
  parents: readonly Cold[],
  sent: readonly Cold[],
): Steps<FamilyNames> {
  const { family } = memory;
  const names = new Map<string, string | null>();
  for (const { id, name } of parents) {
    names.set(id, name);
    if (names.size % TASKS_AT_ONCE === 0) yield;
  }
  const byParent = new Map<string, Cold[]>();
  for (const [at, task] of sent.entries()) {
    if (at % TASKS_AT_ONCE === 0) yield;
    if (task.parentId === null) continue;
    const others = byParent.get(task.parentId);
    if (others === undefined) byParent.set(task.parentId, [task]);
    else others.push(task);
  }
  return {
    nameOf: (id) => (memory.has(id) ? family.nameOf(id) : (names.get(id) ?? null)),
    *namesSentBy(id) {
      yield* family.namesSentBy(id);
      // The tasks in memory are newer.
      for (const task of byParent.get(id) ?? []) if (!memory.has(task.id)) yield task.name;
    },
  };
}
