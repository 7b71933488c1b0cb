import { describe, expect, it } from 'vitest';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, T0, told } from '../telling.ts';
import { arraySessions, expectSameOpenTasks } from './same-reads.ts';
import { memoryOf, readerOver } from './split-history.ts';

describe('the open tasks of memory and a store', () => {
  it('are summed up like those of one memory that holds everything', async () => {
    await expectSameOpenTasks(arraySessions, 20);
  });

  it('are known in part while the store cannot be read', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    store.before = () => {
      throw new Error('away');
    };
    const memory = memoryOf([told({ id: 'a', type: 'started' })]);
    const some = readerOver(memory, () => session, { droppedThrough: () => T0 - 1 });
    expect((await some.getActivity(CONTEXT)).open).toMatchObject({ isWhole: false, running: [{ id: 'a' }] });
    const none = readerOver(memory, () => session);
    await expect(none.getActivity(CONTEXT)).rejects.toMatchObject({ code: 'source_unavailable' });
  });
});

describe('the counts of an instance that hears nothing', () => {
  it('are those that others have stored, of several writers together', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    const cell = (writer: string, start: number) => ({
      ...({ level: 1, span: 60, start, writer, name: 'lab.add', queue: '', worker: '', weight: 3 } as const),
      ...{ counts: [1, 0, 0, 2, 0, 0, 0, 0, 0], times: null },
    });
    await session.rollups.write([cell('a', minute), cell('b', minute), cell('a', minute - 3_600_000)]);
    const reader = readerOver(memoryOf([], { now: Date.now }), () => session, { hearing: () => 'nothing' });
    const { counts } = await reader.getActivity(CONTEXT);
    expect(counts.names()).toEqual(['lab.add']);
    expect(counts.counts('lab.add', minute, minute + 60_000)).toMatchObject({ sent: 2, succeeded: 4 });
    expect(counts.counts('lab.add', minute - 7_200_000, minute + 60_000)).toMatchObject({ succeeded: 6 });
    await reader.getActivity(CONTEXT);
    expect(store.calls.filter((call) => call === 'rollups.read')).toHaveLength(12);
  });
});
