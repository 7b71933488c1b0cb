/** How many tasks a list over memory and a store has. */
import { scheduler } from '../../../scheduler.ts';
import type { ReadContext, TaskPage, TaskQuery } from '../../../source.ts';
import type { ReaderContext } from './reader-context.ts';
import { isDecidedHere, storeQuery } from './store-query.ts';

/** Most stored tasks that are counted. */
const MOST_COUNTED = 10_000;
/** Most tasks that are in memory and may be stored, too. */
const MOST_EXCEPT = 2_000;

/**
 * Counts the tasks of memory and those of the store that memory does not hold.
 *
 * @param page of memory, with its total
 * @returns `null`: unknown, or there are too many
 */
export async function countAll(
  reader: ReaderContext,
  query: TaskQuery,
  page: TaskPage,
  context: ReadContext,
): Promise<number | null> {
  if (isDecidedHere(query) || page.total === null || page.total > MOST_COUNTED) return null;
  const since = reader.droppedThrough();
  // Stored tasks that changed later are in memory.
  const until = Number.isFinite(since) ? new Date(since + 1) : null;
  const isEarlier = until !== null && (query.until === null || until < query.until);
  const counted: TaskQuery = isEarlier ? { ...query, until, after: null } : { ...query, after: null };
  const except = await idsInMemory(reader, counted, context);
  if (except === null) return null;
  const asked = storeQuery(counted, { except });
  const stored = await reader.reads.read((session) => session.tasks.count(asked, MOST_COUNTED + 1), context);
  const total = page.total + stored;
  return stored > MOST_COUNTED ? null : total;
}

/** Ids of tasks in memory that the store may count; `null`: there are too many. */
async function idsInMemory(
  { memory, changedIds, droppedTasks }: ReaderContext,
  query: TaskQuery,
  context: ReadContext,
): Promise<readonly string[] | null> {
  // These are not counted as tasks in memory.
  if (droppedTasks().size > 0) return null;
  const ids = new Set<string>();
  for (const id of changedIds()) {
    if (ids.size > MOST_EXCEPT) return null;
    ids.add(id);
  }
  const visiting = memory.visit(query, ({ id }) => {
    if (ids.size <= MOST_EXCEPT) ids.add(id);
  });
  await scheduler.run('count', visiting, context);
  return ids.size > MOST_EXCEPT ? null : [...ids];
}
