import { describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { collectGarbage } from '../helpers/collect-garbage.ts';
import { CONTEXT, idsOf, page, T0, told } from './telling.ts';

const MIB = 1024 * 1024;
const MAX_BYTES = 6 * MIB;
/** Caches of a fixed size, such as the tasks that changed last, are no part of the bound. */
const CACHES = 4 * MIB;

/** A text of its own in memory, as a parsed message has it. */
const text = (n: number, length: number, filler = 'x'): string =>
  JSON.parse(JSON.stringify(`${n}-`.padEnd(length, filler)));

/** Records message number `n` of each flood. */
const FLOODS: Readonly<Record<string, (history: History, n: number) => void>> = {
  'long names': ({ writer }, n) =>
    writer.recordTask(told({ id: text(n, 20), type: 'received', name: text(n, 400), worker: text(n, 400) })),
  'long states': ({ writer }, n) =>
    writer.recordTask(told({ id: text(n, 20), type: 'custom', state: text(n, 400), eventType: 'task-x' })),
  'long ids of relatives': ({ writer }, n) => {
    const relatives = { parentId: text(n + 1, 300), rootId: text(n + 2, 300), groupId: text(n + 3, 300) };
    writer.recordTask(told({ id: text(n, 300), type: 'received', ...relatives }));
  },
  'texts that are no Latin': ({ writer }, n) =>
    writer.recordTask(
      told({ id: text(n, 20), type: 'received', name: text(n, 400, '日'), args: text(n, 400, '日') }),
    ),
};

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('floods', () => {
  it.each(Object.keys(FLOODS))('of %s keep to the bound of bytes, heap included', async (name) => {
    const before = heapBytes();
    const history = createMemoryHistory({ now: () => T0 + 60_000, maxBytes: MAX_BYTES, maxEvents: 100 });
    for (let n = 0; n < 15_000; n += 1) FLOODS[name]?.(history, n);
    const { bytes, tasks } = await history.reader.getStats(CONTEXT);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
    expect(tasks).toBeLessThan(15_000);
    expect((heapBytes() - before - CACHES) / MAX_BYTES).toBeLessThan(1.2);
    history.close();
  });

  it('of invented workers cost no look at all workers each', () => {
    const history = createMemoryHistory({ now: () => T0, maxWorkers: 1_000, maxTasks: 10 });
    let comparisons = 0;
    const sort = Array.prototype.sort;
    Array.prototype.sort = function (this: unknown[], compare) {
      comparisons += this.length;
      return sort.call(this, compare) as never;
    };
    try {
      for (let n = 0; n < 11_000; n += 1) {
        history.writer.recordTask(told({ id: 'a', type: 'started', worker: `w${n}`, time: T0 + n }));
      }
    } finally {
      Array.prototype.sort = sort;
    }
    // At most a hundred looks at all of them, for ten thousand evictions.
    expect(comparisons).toBeLessThan(100 * 1_000);
    history.close();
  });

  it('of roots are passed on in later turns, and lists by root wait for them', async () => {
    const history = createMemoryHistory({ now: () => T0 + 60_000 });
    const chain = Array.from({ length: 40_000 }, (_, n) =>
      told({ id: `t${n}`, type: 'received', parentId: n === 0 ? 'top' : `t${n - 1}` }),
    );
    for (const change of chain) history.writer.recordTask(change);
    history.writer.recordTask(told({ id: 'top', type: 'received', rootId: 'first', parentId: null }));
    // Whoever asks for the list waits, and meanwhile the event loop goes on: no machine does all of it in one turn.
    let turns = 0;
    const isOver = (async () => (await page(history, { rootId: 'first', limit: 1 })).total)();
    const ended = isOver.then(() => true);
    while (!(await Promise.race([ended, new Promise((resolve) => setImmediate(resolve, false))]))) turns += 1;
    expect(turns).toBeGreaterThan(0);
    expect(await isOver).toBe(40_001);
    history.close();
  });

  it('of roots in a ring of parents end', async () => {
    const history = createMemoryHistory({ now: () => T0 + 60_000 });
    const size = 2_000;
    const reported = new Map([
      [0, 'one'],
      [1_000, 'two'],
    ]);
    for (let n = 0; n < size; n += 1) {
      const rootId = reported.get(n);
      const root = rootId === undefined ? {} : { rootId };
      const parentId = `t${(n + 1) % size}`;
      history.writer.recordTask(told({ id: `t${n}`, type: 'received', parentId, ...root }));
    }
    const both = [await page(history, { rootId: 'one' }), await page(history, { rootId: 'two' })];
    expect(both.map(({ total }) => total)).toEqual([1_000, 1_000]);
    history.close();
  });

  it('of names leave a list by name what it costs', async () => {
    const history = createMemoryHistory({ now: () => T0 + 60_000 });
    for (let n = 0; n < 3_000; n += 1) {
      history.writer.recordTask(
        told({ id: `t${n}`, type: 'received', name: `n${String(n).padStart(5, '0')}` }),
      );
    }
    const first = await page(history, { sort: 'name', order: 'desc', limit: 2 });
    expect(idsOf(first.tasks)).toEqual(['t2999', 't2998']);
    const next = await page(history, { sort: 'name', order: 'desc', limit: 2, after: first.next });
    expect(idsOf(next.tasks)).toEqual(['t2997', 't2996']);
    history.close();
  });
});
