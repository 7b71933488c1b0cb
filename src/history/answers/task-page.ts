/** Cuts pages out of what matches. */
import type { TaskPage, TaskQuery } from '../../source.ts';
import type { ListOrder } from './list-order.ts';
import type { Rows } from './rows.ts';

/**
 * The page at the start of a walk, whose `next` is `null` only when the walk has ended.
 *
 * @param accepts filters the tasks, of which no more than `scan` are examined; `null`: all belong to the list
 * @param total the length of the list, if it is known
 */
export function takePage(
  walk: Iterable<number>,
  { limit, scan }: TaskQuery,
  accepts: ((slot: number) => boolean) | null,
  total: number | null,
  order: ListOrder,
  rows: Rows,
): TaskPage {
  const found: number[] = [];
  let examined = 0;
  let last = -1;
  let hasMore = false;
  for (const slot of walk) {
    const isMatch = accepts === null || (examined < scan && accepts(slot));
    hasMore = isMatch ? found.length >= limit : examined >= scan;
    if (hasMore) break;
    examined++;
    last = slot;
    if (isMatch) found.push(slot);
  }
  const next = hasMore && limit > 0 && last !== -1 ? order.positionOf(last) : null;
  return { tasks: found.map(rows.get), next, total };
}

/** The page behind `after`, of all tasks that match, in their order. */
export function slicePage(
  matching: readonly number[],
  { limit, after }: TaskQuery,
  order: ListOrder,
  rows: Rows,
): TaskPage {
  let start = 0;
  let end = after === null ? 0 : matching.length;
  while (after !== null && start < end) {
    const middle = (start + end) >> 1;
    if (order.compare(order.positionOf(matching[middle] as number), after) > 0) end = middle;
    else start = middle + 1;
  }
  const page = matching.slice(start, start + limit);
  const last = page.at(-1);
  const hasMore = last !== undefined && start + limit < matching.length;
  return { tasks: page.map(rows.get), next: hasMore ? order.positionOf(last) : null, total: matching.length };
}
