import { setImmediate as nextTurn } from 'node:timers/promises';

/** A few commands for each, and what follows from the replies, take a few milliseconds of a turn. */
const AT_ONCE = 25;

/**
 * Works on many queues, some at a time. Other work of the process gets its turn in between.
 *
 * @returns the results of all portions, in the order of the items; rejects as soon as one rejects
 */
export async function inPortions<Item, Result>(
  items: readonly Item[],
  work: (some: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    if (from > 0) await nextTurn();
    results.push(...(await work(items.slice(from, from + AT_ONCE))));
  }
  return results;
}
