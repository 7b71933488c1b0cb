import { describe, expect, it } from 'vitest';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, T0, told } from '../telling.ts';
import { keptOf, memoryOf, readerOver, storedOf } from './split-history.ts';

const LONG = `(${'x'.repeat(5_000)})`;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

const CHANGES = [
  told({ id: 'a', type: 'received', name: 'lab.add', args: LONG, rootId: 'a' }),
  told({ id: 'a', type: 'started', time: T0 + 1, worker: 'w1@a', traceId: TRACE }),
  told({ id: 'a', type: 'succeeded', time: T0 + 2, result: '3' }),
  told({ id: 'b', type: 'sent', time: T0 + 1, rootId: 'a', parentId: 'a' }),
  told({ id: 'c', type: 'sent', time: T0 + 1, rootId: 'a', parentId: 'a' }),
];

/** @param here ids of the tasks in memory; the others are stored */
async function split(here: readonly string[], relations = [{ parent: 'a', child: 'd', relation: 'link' }]) {
  const whole = memoryOf(CHANGES, {}, relations);
  const store = createArrayStore();
  const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
  for (const id of ['a', 'b', 'c']) {
    const kept = keptOf(whole, id);
    if (kept !== null && !here.includes(id)) store.rows('jobs').tasks.set(id, storedOf(kept));
  }
  await session.relations.write(relations);
  const memory = memoryOf(CHANGES.filter(({ id }) => here.includes(id)));
  return { whole: whole.reader, store, reader: readerOver(memory, () => session) };
}

describe('one task of memory and a store', () => {
  it.each([[[]], [['a']], [['b']], [['a', 'b', 'c']]])('is the same with %j in memory', async (here) => {
    const { whole, reader } = await split(here);
    const task = await reader.getTask('a', CONTEXT);
    const expected = await whole.getTask('a', CONTEXT);
    expect({ ...task, children: [...(task?.children ?? [])].sort() }).toEqual(expected);
    expect(task).toMatchObject({ args: LONG, traceId: TRACE });
  });

  it('is null only when neither knows it', async () => {
    const { reader, store } = await split(['a']);
    expect(await reader.getTask('unknown', CONTEXT)).toBe(null);
    store.before = () => {
      throw new Error('away');
    };
    await expect(reader.getTask('unknown', CONTEXT)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect((await reader.getTask('a', CONTEXT))?.state).toBe('SUCCESS');
  });
});

describe('whether tasks are known', () => {
  it('is asked of the store only where memory does not know, and not again at once', async () => {
    const { reader, store } = await split(['a', 'b']);
    expect(reader.listKnown(['a', 'b'], CONTEXT)).toEqual(new Set(['a', 'b']));
    const known = await reader.listKnown(['a', 'b', 'c', 'unknown'], CONTEXT);
    expect([...known].sort()).toEqual(['a', 'b', 'c']);
    const calls = store.calls.length;
    expect(await reader.listKnown(['c', 'unknown'], CONTEXT)).toEqual(new Set(['c']));
    expect(store.calls).toHaveLength(calls);
  });
});

describe('reads of the store', () => {
  it('are a few at once, and no more wait than can be answered soon', async () => {
    const { reader, store } = await split([]);
    let running = 0;
    let most = 0;
    store.before = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    store.after = () => {
      running--;
    };
    const reads = Array.from({ length: 100 }, async () => await reader.getTask('a', CONTEXT));
    const ends = await Promise.allSettled(reads);
    expect(most).toBe(8);
    const failed = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as { code: string }] : []));
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.every(({ code }) => code === 'overloaded')).toBe(true);
    expect(await reader.getTask('a', CONTEXT)).not.toBe(null);
  });

  it('end with the signal', async () => {
    const { reader, store } = await split([]);
    store.before = () => new Promise(() => {});
    const controller = new AbortController();
    const read = reader.getTask('a', { signal: controller.signal });
    controller.abort(new Error('left'));
    await expect(read).rejects.toThrow('left');
  });
});
