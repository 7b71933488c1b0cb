import { describe, expect, it } from 'vitest';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, query, T0, told } from '../telling.ts';
import { expectSameDepths } from './same-depths.ts';
import { arraySessions, expectSameCauses, expectSameStats } from './same-reads.ts';
import { keptOf, memoryOf, readerOver, storedOf } from './split-history.ts';

const statsOf = (filter: Parameters<typeof query>[0] = {}, minutes = 60) => ({
  ...{ minutes, now: new Date(T0 + 1_000), filter: query(filter) },
});

describe('statistics over memory and a store', () => {
  it('are the same as those of one memory that holds everything', async () => {
    await expectSameStats(arraySessions, 60);
  });

  it('have the same depths of queues as memory', async () => {
    await expectSameDepths(arraySessions, 60);
  });

  it('have the causes that the store adds up', async () => {
    await expectSameCauses(arraySessions, 60);
  });

  it('of a time that memory knows need no store', async () => {
    const memory = memoryOf([told({ id: 'a', type: 'succeeded', time: T0 })]);
    const reader = readerOver(memory, () => null, { droppedThrough: () => T0 - 120_000 });
    expect(await reader.getTaskStats(statsOf({}, 1), CONTEXT)).toMatchObject({ states: { SUCCESS: 1 } });
  });

  it('say that they do not know what was before the stored tasks that they read', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const kept = keptOf(memoryOf([told({ id: 'x', type: 'received' })]), 'x');
    if (kept === null) throw new Error('no task');
    const stored = storedOf(kept);
    for (let n = 0; n < 22_000; n++) {
      store.rows('jobs').tasks.set(`x${n}`, { ...stored, id: `x${n}`, timestamp: T0 - n * 100 });
    }
    const old = told({ id: 'old', type: 'succeeded', time: T0 - 3 * 3_600_000 });
    const memory = memoryOf([old], { backdated: true, now: () => T0 + 1_000 });
    const reader = readerOver(memory, () => session);
    const { series } = await reader.getTaskStats(statsOf({ states: ['RECEIVED'] }, 120), CONTEXT);
    expect(series.at(0)?.received).toBe(null);
    expect(series.at(-1)?.received).toBe(20_000);
    expect(store.calls.filter((call) => call === 'tasks.list')).toHaveLength(21);
  });

  it('know of the time in memory alone while the store cannot be read', async () => {
    const old = told({ id: 'old', type: 'received', time: T0 - 600_000 });
    const memory = memoryOf([old, told({ id: 'a', type: 'received', time: T0 })], {
      ...{ backdated: true, now: () => T0 + 1_000 },
    });
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    store.before = () => {
      throw new Error('away');
    };
    const reader = readerOver(memory, () => session, { droppedThrough: () => T0 - 300_000 });
    const { series } = await reader.getTaskStats(statsOf(), CONTEXT);
    expect(series.at(0)?.received).toBe(null);
    expect(series.at(-1)?.received).toBe(1);
  });
});
