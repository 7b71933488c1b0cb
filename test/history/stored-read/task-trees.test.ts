import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HistoryReader, TaskChange } from '../../../src/history/history.ts';
import type { KeptTask } from '../../../src/history/memory/tap.ts';
import type { TaskRelation, TaskTree } from '../../../src/model.ts';
import { createArrayStore } from '../../helpers/array-store.ts';
import { CONTEXT, T0, told } from '../telling.ts';
import { keptOf, memoryOf, readerOver, storedOf } from './split-history.ts';

const COUNT = 14;
const ids = fc.integer({ min: 0, max: COUNT - 1 }).map((n) => `t${n}`);

/** Tasks that name each other in every way; a parent comes before its children. */
const workflows = fc.record({
  tasks: fc.array(
    fc.record({
      parent: fc.oneof(fc.constant(null), fc.nat({ max: COUNT })),
      groupId: fc.constantFrom('g1', 'g2', undefined, undefined, undefined),
      chordId: fc.constantFrom('t0', 'c1', undefined, undefined, undefined),
      kept: fc.constantFrom('memory', 'store', 'both', 'dropped'),
    }),
    { minLength: COUNT, maxLength: COUNT },
  ),
  relations: fc.array(
    fc.record({
      parent: fc.oneof(ids, fc.constantFrom('g3', 'unknown')),
      child: ids,
      relation: fc.constantFrom('chain', 'link', 'group'),
      isInMemory: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  asked: ids,
});

async function split({ tasks, relations }: typeof workflows extends fc.Arbitrary<infer T> ? T : never) {
  const roots: string[] = [];
  const changes = tasks.map(({ parent, groupId, chordId }, n): TaskChange => {
    const parentId = parent !== null && parent < n ? `t${parent}` : null;
    // A task in memory has the root that it was given while its parents were there, too.
    roots[n] = parentId === null ? `t${n}` : (roots[parent ?? 0] as string);
    return told({
      ...{ id: `t${n}`, type: n % 3 === 0 ? 'failed' : 'succeeded', time: T0 + n, parentId },
      rootId: roots[n],
      ...(groupId !== undefined && { groupId }),
      ...(chordId !== undefined && { chordId }),
      ...(n === 3 && { exception: 'E()', traceback: `${'line\n'.repeat(500)}E: the end` }),
    } as never);
  });
  const edges = relations.filter(({ parent, child }) => parent !== child) as (TaskRelation & {
    isInMemory: boolean;
  })[];
  const whole = memoryOf(changes, {}, edges);
  const isHere = ({ id }: Pick<TaskChange, 'id'>) =>
    ['memory', 'both'].includes(tasks[Number(id.slice(1))]?.kept ?? '');
  const memory = memoryOf(
    changes.filter(isHere),
    {},
    // What is related to tasks in memory has been heard, or was loaded with them.
    edges.filter((edge) => edge.isInMemory || isHere({ id: edge.child }) || isHere({ id: `${edge.parent}` })),
  );
  const store = createArrayStore();
  const rows = store.rows('jobs');
  const session = await store.open({ source: 'jobs', deployment: null, isReadOnly: false });
  await session.relations.write(edges);
  const dropped: KeptTask[] = [];
  for (const [n, { kept }] of tasks.entries()) {
    const task = keptOf(whole, `t${n}`);
    if (task !== null && (kept === 'store' || kept === 'both')) rows.tasks.set(`t${n}`, storedOf(task));
    if (task !== null && kept === 'dropped') dropped.push(task);
  }
  const reader = readerOver(memory, () => session, { droppedTasks: () => dropped });
  return { whole: whole.reader, reader, store };
}

const treeOf = async (reader: HistoryReader, id: string): Promise<TaskTree | null> =>
  await reader.getTaskTree(id, CONTEXT);

const sorted = (tree: TaskTree | null) => {
  if (tree === null) return null;
  const text = (value: unknown): string => JSON.stringify(value);
  const { tasks, relations = [] } = tree;
  return {
    ...tree,
    tasks: tasks.map(text).sort(),
    relations: relations.map(({ parent, child, relation }) => text([parent, child, relation])).sort(),
  };
};

describe('a workflow in memory and a store', () => {
  it('is the same as in one memory that holds everything', async () => {
    await fc.assert(
      fc.asyncProperty(workflows, async (given) => {
        const { whole, reader } = await split(given);
        expect(sorted(await treeOf(reader, given.asked))).toEqual(sorted(await treeOf(whole, given.asked)));
      }),
      { numRuns: 25 },
    );
  });

  it('is answered without the store when it began lately', () => {
    const changes = [
      told({ id: 'a', type: 'started', time: T0, rootId: 'a' }),
      told({ id: 'b', type: 'sent', time: T0, rootId: 'a', parentId: 'a', chordId: 'later' }),
    ];
    const reader = readerOver(memoryOf(changes), () => null, { droppedThrough: () => T0 - 61_000 });
    expect((reader.getTaskTree('a', CONTEXT) as TaskTree).tasks).toHaveLength(2);
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
