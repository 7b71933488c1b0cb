/** The k-way merge: reads many sorted sequences as one, each only as far as needed. */
import { setImmediate as nextTurn } from 'node:timers/promises';

type Compare<Item> = (a: Item, b: Item) => number;

/** The next item of one sequence. */
interface Head<Item, Source> {
  item: Item;
  readonly source: Source;
  /** Position of the sequence in the list: of equal items, the one from the earlier sequence comes first. */
  readonly rank: number;
}

/**
 * Merges sorted sequences into one. Equal items keep the order of their sequences. If a sequence is not sorted,
 * its items keep their order among themselves.
 *
 * @param compare less than 0 when the first item comes first
 */
export function* mergeSorted<Item>(
  sequences: readonly Iterable<Item>[],
  compare: Compare<Item>,
): Generator<Item, void, undefined> {
  const iterators = sequences.map((sequence) => sequence[Symbol.iterator]());
  const heap: Head<Item, Iterator<Item>>[] = [];
  try {
    for (const [rank, source] of iterators.entries()) {
      const { value, done } = source.next();
      if (!done) add(heap, { item: value, source, rank }, compare);
    }
    for (let head = heap[0]; head !== undefined; head = heap[0]) {
      yield head.item;
      const { value, done } = head.source.next();
      if (done) removeFirst(heap, compare);
      else replaceFirst(heap, value, compare);
    }
  } finally {
    for (const iterator of iterators) iterator.return?.();
  }
}

/** Asynchronous sequences that are begun in one turn of the event loop. */
const AT_ONCE = 50;

/**
 * The same for asynchronous sequences. The first items of all sequences are requested without waiting for one another;
 * after that, one item at a time.
 *
 * @param compare less than 0 when the first item comes first
 */
export async function* mergeSortedAsync<Item>(
  sequences: readonly AsyncIterable<Item>[],
  compare: Compare<Item>,
): AsyncGenerator<Item, void, undefined> {
  const iterators = sequences.map((sequence) => sequence[Symbol.asyncIterator]());
  const heap: Head<Item, AsyncIterator<Item>>[] = [];
  try {
    const begun: Promise<IteratorResult<Item>>[] = [];
    for (const [rank, source] of iterators.entries()) {
      if (rank > 0 && rank % AT_ONCE === 0) await nextTurn();
      const first = source.next();
      // It is awaited below. Until then, a failure must not be an unhandled rejection.
      first.catch(() => {});
      begun.push(first);
    }
    const firsts = await Promise.all(begun);
    for (const [rank, source] of iterators.entries()) {
      const first = firsts[rank];
      if (first !== undefined && !first.done) add(heap, { item: first.value, source, rank }, compare);
    }
    for (let head = heap[0]; head !== undefined; head = heap[0]) {
      yield head.item;
      const { value, done } = await head.source.next();
      if (done) removeFirst(heap, compare);
      else replaceFirst(heap, value, compare);
    }
  } finally {
    await Promise.all(iterators.map((iterator) => iterator.return?.()));
  }
}

function add<Item, Source>(
  heap: Head<Item, Source>[],
  head: Head<Item, Source>,
  compare: Compare<Item>,
): void {
  let at = heap.push(head) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!swapIfBefore(heap, at, above, compare)) return;
    at = above;
  }
}

function replaceFirst<Item, Source>(heap: Head<Item, Source>[], item: Item, compare: Compare<Item>): void {
  const [first] = heap;
  if (first === undefined) return;
  first.item = item;
  settleFirst(heap, compare);
}

function removeFirst<Item, Source>(heap: Head<Item, Source>[], compare: Compare<Item>): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  settleFirst(heap, compare);
}

/** Moves the first head down to its place in the binary heap. */
function settleFirst<Item, Source>(heap: Head<Item, Source>[], compare: Compare<Item>): void {
  for (let at = 0; ; ) {
    const left = 2 * at + 1;
    if (left >= heap.length) return;
    const right = left + 1;
    const least = right < heap.length && isBefore(heap, right, left, compare) ? right : left;
    if (!swapIfBefore(heap, least, at, compare)) return;
    at = least;
  }
}

function swapIfBefore<Item, Source>(
  heap: Head<Item, Source>[],
  below: number,
  above: number,
  compare: Compare<Item>,
): boolean {
  const [lower, upper] = [heap[below], heap[above]];
  if (lower === undefined || upper === undefined || !isBefore(heap, below, above, compare)) return false;
  heap[below] = upper;
  heap[above] = lower;
  return true;
}

function isBefore<Item, Source>(
  heap: readonly Head<Item, Source>[],
  a: number,
  b: number,
  compare: Compare<Item>,
): boolean {
  const [one, other] = [heap[a], heap[b]];
  if (one === undefined || other === undefined) return false;
  return (compare(one.item, other.item) || one.rank - other.rank) < 0;
}
