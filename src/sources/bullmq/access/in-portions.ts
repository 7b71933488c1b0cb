import { setImmediate as nextTurn } from 'node:timers/promises';

/** A few commands for each, and what follows from the replies, take a few milliseconds of a turn. */
const AT_ONCE = 25;

/** Some of many queues at a time. Between two portions, other work of the process gets its turn. */
export async function* inPortions<Item>(items: readonly Item[]): AsyncGenerator<readonly Item[]> {
  for (let from = 0; from < items.length; from += AT_ONCE) {
    if (from > 0) await nextTurn();
    yield items.slice(from, from + AT_ONCE);
  }
}
