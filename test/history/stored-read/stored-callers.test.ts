import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, query, T0, told } from '../telling.ts';
import { splitOf, splits } from './random-splits.ts';
import { keptOf, memoryOf, readerOver, storedOf } from './split-history.ts';

const OLD = T0 - 3_600_000;

/** Parent `o` and child `m` of task `p` are in the store alone. */
async function historyWith(stored: readonly string[]) {
  const changes = [
    told({ id: 'o', name: 'order', type: 'succeeded', time: OLD }),
    told({ id: 'p', name: 'pay', type: 'succeeded', parentId: 'o', time: T0 }),
    told({ id: 'm', name: 'mail', type: 'succeeded', parentId: 'p', time: OLD }),
    told({ id: 'n', name: 'mail', type: 'succeeded', parentId: 'p', time: T0 }),
  ];
  const whole = memoryOf(changes);
  const store = createArrayStore();
  const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
  await session.tasks.write(
    stored.flatMap((id) => {
      const kept = keptOf(whole, id);
      return kept === null ? [] : storedOf(kept);
    }),
  );
  const memory = memoryOf(changes.filter(({ id }) => !stored.includes(id)));
  const reader = readerOver(memory, () => session, { droppedThrough: () => T0 - 60_000 });
  const read = async () => {
    const filter = query({ names: ['pay'] });
    const asked = { minutes: 1, now: new Date(T0 + 1_000), callers: true, filter };
    const { callers, callees } = await reader.getTaskStats(asked, CONTEXT);
    return { callers, callees };
  };
  return { store, read };
}

const UNKNOWN = { callers: null, callees: null };

/** As parents, tasks of the history: `splits` has parents that nobody knows. They have none, or they might form a ring. */
const PARENTS: Readonly<Record<string, string>> = { p1: 't3', p2: 't4' };
const isParent = (id: string): boolean => Object.values(PARENTS).includes(id);

describe('callers over memory and a store', () => {
  it('are the same as those of one memory that holds everything', async () => {
    let found = 0;
    const names = fc.constantFrom('lab.add', 'zoo');
    const property = fc.asyncProperty(splits, names, async (given, name) => {
      const session = await createArrayStore().open({ source: 'jobs', deployment: null, isReadOnly: false });
      const related = given.told.map((one) => ({
        ...one,
        parentId: isParent(one.id) ? undefined : PARENTS[one.parentId ?? ''],
      }));
      const { whole, reader } = await splitOf({ ...given, told: related as typeof given.told }, session);
      const filter = query({ names: [name] });
      const asked = { minutes: 60, now: new Date(T0 + 1_000), callers: true, filter };
      const { callers, callees } = await whole.reader.getTaskStats(asked, CONTEXT);
      expect(await reader.getTaskStats(asked, CONTEXT)).toMatchObject({ callers, callees });
      found += (callers?.length ?? 0) + (callees?.length ?? 0);
    });
    await fc.assert(property, { numRuns: 60 });
    expect(found).toBeGreaterThan(20);
  });

  it('are found in the store, also of a window that memory knows', async () => {
    const { read } = await historyWith(['o', 'm']);
    expect(await read()).toEqual({
      callers: [{ name: 'order', count: 1 }],
      callees: [{ name: 'mail', count: 2 }],
    });
  });

  it('are not known while the store cannot be read, or of too many tasks', async () => {
    const { store, read } = await historyWith(['o', 'm']);
    store.before = (call) => {
      if (call !== 'tasks.list') throw new Error('away');
    };
    expect(await read()).toEqual(UNKNOWN);
    store.before = null;
    const [child] = [...store.rows('jobs').tasks.values()].filter(({ id }) => id === 'm');
    if (child === undefined) throw new Error('no child');
    for (let n = 0; n < 20_000; n++) {
      store.rows('jobs').tasks.set(`m${n} 0`, { ...child, id: `m${n}` });
    }
    expect(await read()).toEqual({ callers: [{ name: 'order', count: 1 }], callees: null });
  });
});
