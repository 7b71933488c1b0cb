/** Reads stored tasks page by page, up to a bound. */
import type { ReadContext } from '../../../source.ts';
import type { StoredQuery, StoredTask } from '../../store.ts';
import { FIRST_READ, nextReadSize } from './read-size.ts';
import type { ReaderContext } from './reader-context.ts';

/**
 * Reads the tasks of a list in its order, up to `most`. The next page is read while one is processed.
 *
 * @param take is called with each page
 * @returns the last task if there may be more; `null`: the list has ended
 */
export async function scanTasks(
  { reads }: ReaderContext,
  query: StoredQuery,
  most: number,
  take: (tasks: readonly StoredTask[]) => Promise<void> | void,
  context: ReadContext,
): Promise<StoredTask | null> {
  const read = (after: StoredQuery['after'], limit: number): Promise<readonly StoredTask[]> => {
    const page = reads.read((session) => session.tasks.list({ ...query, after, limit }), context);
    // It may fail before it is awaited.
    page.catch(() => {});
    return page;
  };
  let size = Math.min(FIRST_READ, most);
  let next = read(query.after, size);
  for (let count = 0; ; ) {
    const tasks = await next;
    const last = tasks.at(-1);
    count += tasks.length;
    const isEnd = last === undefined || tasks.length < size;
    if (!isEnd && count < most) {
      size = Math.min(nextReadSize(tasks), most - count);
      next = read({ key: last[query.sort], id: last.id }, size);
    }
    await take(tasks);
    if (isEnd) return null;
    if (count >= most) return last;
  }
}
