/** Random workflows whose tasks and relations are split between memory and a store. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { HistoryReader, TaskChange } from '../../../src/history/history.ts';
import type { KeptTask } from '../../../src/history/memory/tap.ts';
import type { StoredTask, StoreSession } from '../../../src/history/store.ts';
import type { TaskRelation, TaskTree } from '../../../src/model.ts';
import { CONTEXT, T0, told } from '../telling.ts';
import { droppedTasks, keptOf, memoryOf, readerOver, storedOf } from './split-history.ts';

const COUNT = 14;
const ids = fc.integer({ min: 0, max: COUNT - 1 }).map((n) => `t${n}`);

/** Tasks that name each other in every way; a parent comes before its children. */
export const workflows = fc.record({
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

type Given = typeof workflows extends fc.Arbitrary<infer Value> ? Value : never;

/** @param session of an empty store */
async function split({ tasks, relations }: Given, session: StoreSession) {
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
  await session.relations.write(edges);
  const stored: StoredTask[] = [];
  const dropped: KeptTask[] = [];
  for (const [n, { kept }] of tasks.entries()) {
    const task = keptOf(whole, `t${n}`);
    if (task !== null && (kept === 'store' || kept === 'both')) stored.push(storedOf(task));
    if (task !== null && kept === 'dropped') dropped.push(task);
  }
  await session.tasks.write(stored);
  const reader = readerOver(memory, () => session, { droppedTasks: () => droppedTasks(dropped) });
  return { whole: whole.reader, reader };
}

export const treeOf = async (reader: HistoryReader, id: string): Promise<TaskTree | null> =>
  await reader.getTaskTree(id, CONTEXT);

const comparable = (tree: TaskTree | null) => {
  if (tree === null) return null;
  const text = (value: unknown): string => JSON.stringify(value);
  const { tasks, relations = [] } = tree;
  return {
    ...tree,
    tasks: tasks.map(text).sort(),
    relations: relations.map(({ parent, child, relation }) => text([parent, child, relation])).sort(),
  };
};

/** Expects the same tree of both, in whatever order. */
export async function expectSameTree(given: Given, session: StoreSession): Promise<void> {
  const { whole, reader } = await split(given, session);
  expect(comparable(await treeOf(reader, given.asked))).toEqual(comparable(await treeOf(whole, given.asked)));
}
