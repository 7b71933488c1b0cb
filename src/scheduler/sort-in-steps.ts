import { mergeSorted } from '../merge-sorted.ts';
import type { Steps } from './work.ts';

/** Items sorted or merged between two pauses. */
const AT_ONCE = 512;

/**
 * Sorts in steps. Equal items keep their order.
 *
 * @param most how many of the first items are returned. Default: all
 */
export function* sortInSteps<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  most: number = items.length,
): Steps<Item[]> {
  const parts: Item[][] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    parts.push(items.slice(at, at + AT_ONCE).sort(compare));
    yield;
  }
  const sorted: Item[] = [];
  for (const item of mergeSorted(parts, compare)) {
    if (sorted.length >= most) break;
    if (sorted.push(item) % AT_ONCE === 0) yield;
  }
  return sorted;
}
