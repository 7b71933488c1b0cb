/** Answers every read from memory and a store: from memory alone if that is enough. */
import type { HistoryReader } from '../../history.ts';
import type { StoredView } from '../stored-view.ts';
import { createKnownIds, listKnown } from './known-ids.ts';
import type { ReaderContext } from './reader-context.ts';
import { createStatsReader, type StatsReader } from './stats-reader.ts';
import { createStoreReads } from './store-reads.ts';
import { getActivity } from './stored-activity.ts';
import { createStoredCounts } from './stored-counts.ts';
import { getTaskStats } from './stored-stats.ts';
import { getTask } from './task-details.ts';
import { listTasks } from './task-pages.ts';
import { getTaskTree } from './task-trees.ts';

/** All instances on one store list the same tasks in the same order, so cursors are valid at each of them. */
const INSTANCE = 'store';

/** Answers of a stored history. */
interface StoredReader extends HistoryReader {
  readonly getTaskStats: StatsReader;
}

/** The reader of a history that is kept in a store. Reads of recent data never wait for the store. */
export function createStoredReader(view: StoredView): StoredReader {
  const { reader } = view.memory;
  const reads = createStoreReads(view);
  const readCounts = createStoredCounts({ reads, memory: view.memory });
  const context: ReaderContext = { ...view, reads, readCounts, known: createKnownIds() };
  return {
    ...reader,
    instance: INSTANCE,
    listTasks: (query, read) => listTasks(fromNowOn(context), query, read),
    getTask: (id, read) => getTask(fromNowOn(context), id, read),
    getTaskTree: (id, read) => getTaskTree(fromNowOn(context), id, read),
    getTaskStats: createStatsReader(view, reads, (query, read) => getTaskStats(context, query, read)),
    getActivity: (read) => getActivity(context, read),
    listKnown: (ids, read) => listKnown(context, ids, read),
    freshness(part) {
      const { revision, changesAt } = reader.freshness(part);
      return { revision: revision + view.revision(), changesAt };
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
