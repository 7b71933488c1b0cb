import { describe, expect, it } from 'vitest';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, T0, told } from '../telling.ts';
import { treeOf } from './random-workflows.ts';
import { arraySessions, expectSameTrees } from './same-reads.ts';
import { keptOf, memoryOf, readerOver, storedOf } from './split-history.ts';

describe('a workflow in memory and a store', () => {
  it('is the same as in one memory that holds everything', async () => {
    await expectSameTrees(arraySessions, 25);
  });

  it('is not denied because memory was filled while it was asked', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const changes = [told({ id: 'a', type: 'succeeded', time: T0, rootId: 'a' })];
    const kept = keptOf(memoryOf(changes), 'a');
    if (kept === null) throw new Error('no task');
    await session.tasks.write([storedOf(kept)]);
    const empty = memoryOf([]);
    for (const read of ['getTask', 'getTaskTree'] as const) {
      let asked = 0;
      // Everything is in memory from the second look on.
      const droppedThrough = () => (asked++ === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
      const reader = readerOver(empty, () => session, { droppedThrough });
      expect(await reader[read]('a', CONTEXT)).not.toBeNull();
    }
  });

  it('is answered without the store when it began lately', async () => {
    const changes = [
      told({ id: 'a', type: 'started', time: T0, rootId: 'a' }),
      told({ id: 'b', type: 'sent', time: T0, rootId: 'a', parentId: 'a', chordId: 'later' }),
    ];
    const reader = readerOver(memoryOf(changes), () => null, { droppedThrough: () => T0 - 61_000 });
    expect((await treeOf(reader, 'a'))?.tasks).toHaveLength(2);
  });

  it('waits for the store once where memory has all of it', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const changes = Array.from({ length: 50 }, (_, n) =>
      told({ id: `t${n}`, type: 'succeeded', time: T0, rootId: 't0', ...(n > 0 && { parentId: 't0' }) }),
    );
    const reader = readerOver(memoryOf(changes), () => session);
    expect((await treeOf(reader, 't7'))?.tasks).toHaveLength(50);
    expect(store.calls.filter((call) => call === 'relations.read')).toHaveLength(1);
  });

  it('is marked as a part of the whole while the store cannot be read', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    store.before = () => {
      throw new Error('away');
    };
    const reader = readerOver(memoryOf([told({ id: 'a', type: 'started' })]), () => session);
    expect(await treeOf(reader, 'a')).toMatchObject({ truncated: true, tasks: [{ id: 'a' }] });
    await expect(treeOf(reader, 'b')).rejects.toMatchObject({ code: 'source_unavailable' });
  });

  it('has 20,000 tasks at most', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const rows = store.rows('jobs').tasks;
    const [one] = [keptOf(memoryOf([told({ id: 'x', type: 'succeeded', rootId: 'r' })]), 'x')];
    if (one === null || one === undefined) throw new Error('no task');
    const stored = storedOf(one);
    for (let n = 0; n < 20_100; n++) rows.set(`x${n}`, { ...stored, id: `x${n}`, parentId: 'r' });
    const tree = await treeOf(
      readerOver(memoryOf([]), () => session),
      'x7',
    );
    expect(tree?.truncated).toBe(true);
    expect(tree?.tasks.length).toBeGreaterThan(19_000);
  });

  it('reads large records a few at a time, and shortens the texts of a large workflow', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const texts = { args: 'a'.repeat(2_000), kwargs: 'k'.repeat(2_000), result: 'r'.repeat(2_000) };
    const change = told({ id: 'x', type: 'succeeded', rootId: 'r', ...texts });
    const one = keptOf(memoryOf([change]), 'x');
    if (one === null) throw new Error('no task');
    const stored = storedOf(one);
    for (let n = 0; n < 4_000; n++)
      store.rows('jobs').tasks.set(`x${n}`, { ...stored, id: `x${n}`, parentId: 'r' });
    const reads: number[] = [];
    const find: typeof session.tasks.find = async (asked) => {
      const found = await session.tasks.find(asked);
      reads.push(found.reduce((sum, { record }) => sum + record.length, 0));
      return found;
    };
    const watched = { ...session, tasks: { ...session.tasks, find } };
    const tree = await treeOf(
      readerOver(memoryOf([]), () => watched),
      'x7',
    );
    expect(tree?.tasks).toHaveLength(4_000);
    expect(Math.max(...reads)).toBeLessThan(1_500_000);
    const [first, last] = [tree?.tasks[0], tree?.tasks.at(-1)];
    expect(first).toMatchObject(texts);
    expect(last).toMatchObject({ args: 'a'.repeat(256), kwargs: 'k'.repeat(256), result: 'r'.repeat(256) });
    expect(last?.truncated).toEqual(['args', 'kwargs', 'result']);
    expect(first?.truncated).toEqual([]);
  });
});
