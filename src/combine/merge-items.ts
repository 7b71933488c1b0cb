import { mergeSorted } from '../merge-sorted.ts';
import type { Reply } from '../source/combined-part.ts';

/** An item and the position that it is sorted by. */
export interface Positioned<Item, Position> {
  readonly item: Item;
  readonly position: Position;
}

/** The items that one part returned, in the order of that part. */
export interface SortedItems<Item, Position> {
  readonly items: readonly Positioned<Item, Position>[];
  /** Position after which the part has more items than it returned; `null`: it has no more. */
  readonly rest: Position | null;
}

/**
 * Merges the items of several parts up to `limit`. Stops early when the next item sorts after the `rest` of a
 * part whose items are all taken: items of that part which have not been read yet may come first.
 *
 * @param compare less than 0 when the first position comes first; equal items keep the order of their parts
 * @returns the items in merged order, each with the index of its part; and by part, how many of its items are among them
 */
export function mergeItems<Item, Position>(
  parts: readonly SortedItems<Item, Position>[],
  limit: number,
  compare: (a: Position, b: Position) => number,
) {
  const taken = parts.map(() => 0);
  const items: (Positioned<Item, Position> & { readonly part: number })[] = [];
  const mustWait = (position: Position): boolean =>
    parts.some(
      ({ items: own, rest }, part) =>
        rest !== null && taken[part] === own.length && compare(position, rest) > 0,
    );
  const sequences = parts.map(({ items: own }, part) => own.map((item) => ({ ...item, part })));
  for (const next of mergeSorted(sequences, (a, b) => compare(a.position, b.position))) {
    if (items.length >= limit || mustWait(next.position)) break;
    items.push(next);
    taken[next.part] = (taken[next.part] as number) + 1;
  }
  return { items, taken };
}

/** Throws the first error when all parts have failed. */
export function requireAnswer(replies: readonly Reply<unknown>[]): void {
  const [first] = replies;
  if (first !== undefined && 'error' in first && replies.every((reply) => 'error' in reply))
    throw first.error;
}

/** The data of one part; `null` when it failed. */
export function answerOf<Raw>(reply: Reply<Raw> | undefined): Raw | null {
  return reply !== undefined && 'raw' in reply ? reply.raw : null;
}

/** Counts the items of a list. */
export function lengthOf(list: unknown): number {
  if (!Array.isArray(list)) throw new TypeError('The source must return an array.');
  return list.length;
}
