import { describe, expect, it } from 'vitest';
import { mergeSorted, mergeSortedAsync } from '../../src/merge-sorted.ts';

const byNumber = (a: number, b: number): number => a - b;

async function* later<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  for (const item of items) {
    await Promise.resolve();
    yield item;
  }
}

async function both<Item>(
  lists: readonly (readonly Item[])[],
  compare: (a: Item, b: Item) => number,
): Promise<Item[]> {
  const merged = [...mergeSorted(lists, compare)];
  const awaited: Item[] = [];
  for await (const item of mergeSortedAsync(lists.map(later), compare)) awaited.push(item);
  expect(awaited).toEqual(merged);
  return merged;
}

describe('the k-way merge', () => {
  it('gives the items of any number of sorted sequences in one order', async () => {
    expect(await both([], byNumber)).toEqual([]);
    expect(await both([[], [1, 4], [2], [], [0, 3, 5]], byNumber)).toEqual([0, 1, 2, 3, 4, 5]);
    const lists = Array.from({ length: 37 }, (_, n) =>
      Array.from({ length: n }, (_, m) => (m * 7919 + n * 104_729) % 1_000).sort(byNumber),
    );
    expect(await both(lists, byNumber)).toEqual(lists.flat().sort(byNumber));
  });

  it('keeps the order of the sequences among equal items', async () => {
    const items = (name: string) => [1, 1, 2].map((key) => ({ key, name }));
    const merged = await both([items('a'), items('b'), items('c')], (a, b) => a.key - b.key);
    expect(merged.map(({ name }) => name).join('')).toBe('aabbccabc');
  });

  it('gives each item of a sequence that is not sorted when its turn comes', async () => {
    expect(
      await both(
        [
          [5, 1, 2],
          [3, 6],
        ],
        byNumber,
      ),
    ).toEqual([3, 5, 1, 2, 6]);
  });

  it('reads no further than it is asked to, and ends every sequence', async () => {
    let read = 0;
    let ended = 0;
    async function* count(): AsyncGenerator<number> {
      try {
        for (;;) yield read++;
      } finally {
        ended += 1;
      }
    }
    const merged = mergeSortedAsync([count(), count()], byNumber);
    for (let n = 0; n < 5; n += 1) await merged.next();
    expect(read).toBe(6);
    await merged.return();
    expect(ended).toBe(2);
  });

  it('fails when one sequence fails, and ends the others', async () => {
    let ended = false;
    async function* good(): AsyncGenerator<number> {
      try {
        yield 1;
        yield 2;
      } finally {
        ended = true;
      }
    }
    async function* bad(): AsyncGenerator<number> {
      yield 1;
      throw new Error('away');
    }
    const merged = mergeSortedAsync([good(), bad()], byNumber);
    await merged.next();
    await merged.next();
    await expect(merged.next().then(() => merged.next())).rejects.toThrow('away');
    expect(ended).toBe(true);
  });
});
