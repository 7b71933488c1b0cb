/** Answers every read from memory and a store: from memory alone if that is enough. */
import type { Awaitable, ReadContext } from '../../../source.ts';
import type { HistoryReader } from '../../history.ts';
import type { StoredState } from '../stored-state.ts';
import { createContext, isStoreAway, type ReaderContext } from './reader-context.ts';
import { createStatsReader, type StatsReader } from './stats-reader.ts';
import { createStoredCounts, getActivity } from './stored-activity.ts';
import { getTaskStats } from './stored-stats.ts';
import { listTasks } from './task-pages.ts';
import { getTask, getTaskTree } from './task-trees.ts';

/** All instances on one store list the same tasks in the same order, so cursors are valid at each of them. */
const INSTANCE = 'store';

/** Answers of a stored history. */
interface StoredReader extends HistoryReader {
  readonly getTaskStats: StatsReader;
}

/** The reader of a history that is kept in a store. Reads of recent data never wait for the store. */
export function createStoredReader(state: StoredState): StoredReader {
  const context = createContext(state);
  const { reader } = context.memory;
  const readCounts = createStoredCounts(context);
  return {
    ...reader,
    instance: INSTANCE,
    listTasks: (query, read) => listTasks(fromNowOn(context), query, read),
    getTask: (id, read) => getTask(fromNowOn(context), id, read),
    getTaskTree: (id, read) => getTaskTree(fromNowOn(context), id, read),
    getTaskStats: createStatsReader(context, (query, read) => getTaskStats(context, query, read)),
    getActivity: (read) => getActivity(context, readCounts, read),
    listKnown: (ids, read) => listKnown(context, ids, read),
    freshness(part) {
      const { revision, changesAt } = reader.freshness(part);
      return { revision: revision + state.revision, changesAt };
    },
  };
}

/**
 * For one read: memory is asked first, and may be filled before the decision whether to ask the store, too. The answer
 * of memory then lacks what it has by now.
 */
function fromNowOn(context: ReaderContext): ReaderContext {
  const before = context.droppedThrough();
  return { ...context, droppedThrough: () => Math.max(before, context.droppedThrough()) };
}

/** Tasks of one read. */
const BATCH = 1_000;
/** Most tasks that are looked up in the store for one answer. */
const MOST_READ = 10_000;

/**
 * Which of these tasks are known. Asks the store only for what memory does not know. While the store is unreachable
 * these count as unknown: the findings of collectors about them are then shown.
 */
function listKnown(
  reader: ReaderContext,
  ids: Iterable<string>,
  context: ReadContext,
): Awaitable<ReadonlySet<string>> {
  const { memory, droppedThrough, known } = reader;
  const found = new Set<string>();
  const open: string[] = [];
  const isAll = droppedThrough() === Number.NEGATIVE_INFINITY;
  for (const id of ids) {
    const isKnown = memory.has(id) || (isAll ? false : known.get(id));
    if (isKnown === true) found.add(id);
    else if (isKnown === null && open.length < MOST_READ) open.push(id);
  }
  return open.length === 0 ? found : readKnown(reader, open, found, context);
}

async function readKnown(
  { reads, known }: ReaderContext,
  ids: readonly string[],
  found: Set<string>,
  context: ReadContext,
): Promise<ReadonlySet<string>> {
  try {
    for (let at = 0; at < ids.length; at += BATCH) {
      const batch = ids.slice(at, at + BATCH);
      const stored = await reads.read((session) => session.tasks.known(batch), context);
      for (const id of batch) {
        known.set(id, stored.has(id));
        if (stored.has(id)) found.add(id);
      }
    }
  } catch (error) {
    if (!isStoreAway(error)) throw error;
  }
  return found;
}
