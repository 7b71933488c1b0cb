import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../../src/history/history.ts';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, idsOf, query, T0, told } from '../telling.ts';
import { arraySessions, expectSamePages, expectSameTotals } from './same-reads.ts';
import { memoryOf, readerOver } from './split-history.ts';

describe('a task list over memory and a store', () => {
  it('lists the same pages as one memory that holds everything', async () => {
    await expectSamePages(arraySessions, 50);
  });

  it('counts the tasks of filters', async () => {
    await expectSameTotals(arraySessions, 30);
  });
});

const some = (count: number): TaskChange[] =>
  Array.from({ length: count }, (_, n) =>
    told({ id: `t${n}`, type: 'succeeded', time: T0 + n, name: 'lab.add' }),
  );

describe('a page that memory knows', () => {
  it('is answered without the store', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const memory = memoryOf(some(50).slice(20));
    const reader = readerOver(memory, () => session, { droppedThrough: () => T0 + 19 });
    const page = await reader.listTasks(query({ limit: 10 }), CONTEXT);
    expect(idsOf(page.tasks)[0]).toBe('t49');
    expect(page.total).toBe(null);
    const late = await reader.listTasks(query({ since: new Date(T0 + 20), sort: 'name' }), CONTEXT);
    expect(late.total).toBe(30);
    expect(store.calls).toEqual(['open']);
  });

  it('waits for the store where the list reaches further', async () => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    const memory = memoryOf(some(50).slice(20));
    const reader = readerOver(memory, () => session, { droppedThrough: () => T0 + 19 });
    const page = await reader.listTasks(query({ limit: 100 }), CONTEXT);
    expect(page).toMatchObject({ next: null, total: 30 });
    expect(store.calls).toContain('tasks.list');
  });
});

describe('a store that cannot be read', () => {
  const away = async (count: number) => {
    const store = createArrayStore();
    const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
    store.before = () => {
      throw new Error('connection refused');
    };
    return readerOver(memoryOf(some(count)), () => session);
  };

  it('leaves the rows of memory, and a list without an end', async () => {
    const reader = await away(3);
    const page = await reader.listTasks(query({ limit: 10 }), CONTEXT);
    expect(idsOf(page.tasks)).toEqual(['t2', 't1', 't0']);
    expect(page).toMatchObject({ next: { key: T0, id: 't0' }, total: null, cursorExact: false });
  });

  it('is an error where memory has nothing, and no empty list', async () => {
    const reader = await away(0);
    const failure = { name: 'MonitorError', code: 'source_unavailable' };
    await expect(reader.listTasks(query(), CONTEXT)).rejects.toMatchObject(failure);
    await expect(reader.getTask('t9', CONTEXT)).rejects.toMatchObject(failure);
  });
});
