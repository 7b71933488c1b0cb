/** Random messages, workflows and queries. */
import fc from 'fast-check';
import type { TaskChange } from '../../src/history/history.ts';
import type { Task } from '../../src/model.ts';
import type { TaskQuery } from '../../src/source.ts';
import { CONDITIONS } from '../helpers/random-conditions.ts';
import { SORTS } from '../helpers/task-query.ts';
import { T0, taskOf, told } from '../history/telling.ts';
import { type Split, type Told, WORKERS } from './split.ts';

function traceOf(name: string): string {
  return `  File "/app/shop.py", line 7, in ${name}\n    raise error\nKeyError: 'x'`;
}

/** Errors of three causes. */
const ERRORS = [
  { exception: "ValueError('no 7')" },
  { exception: "KeyError('a')", traceback: traceOf('pay') },
  {
    exception: "KeyError('b')",
    traceback: `${'  File "/app/deep.py", line 1, in again\n'.repeat(8)}${traceOf('pay')}`,
  },
  { exception: "KeyError('c')", traceback: traceOf('refund') },
] as const;

/** Causes that tasks may have. */
const CAUSES = await Promise.all(
  ERRORS.map(async (error) => (await taskOf([told({ type: 'failed', ...error })])).cause?.id ?? ''),
);

const TYPES = ['sent', 'received', 'started', 'succeeded', 'failed', 'retried', 'revoked', 'custom'] as const;

const message = fc
  .record({
    id: fc.integer({ min: 0, max: 30 }).map((n) => `t${n}`),
    type: fc.constantFrom(...TYPES),
    time: fc.integer({ min: 0, max: 40 }).map((n) => T0 + n),
    worker: fc.constantFrom(...WORKERS, null),
    name: fc.constantFrom('lab.add', 'Lab.mul', 'zoo', '_é', undefined),
    queue: fc.constantFrom('q1', 'q2', undefined),
    runtime: fc.constantFrom(0.5, 1, 2),
    rootId: fc.constantFrom('t1', 't2', undefined),
    parentId: fc.constantFrom('p1', 'p2', undefined),
    groupId: fc.constantFrom('g', undefined),
    args: fc.constantFrom('(1,)', '(needle,)', undefined),
    eta: fc.constantFrom(T0 + 10, undefined),
    error: fc.constantFrom(...ERRORS),
  })
  .map(({ error, ...given }): TaskChange => {
    const said = Object.entries(given).filter(([, value]) => value !== undefined);
    return told({
      ...(Object.fromEntries(said) as unknown as TaskChange),
      ...(given.type === 'failed' && error),
      ...(given.type === 'custom' && { state: 'PROGRESS' }),
    });
  });

const splits: fc.Arbitrary<Split> = fc.record({
  kept: fc.constantFrom(2, 10, 100),
  written: fc.constantFrom(0.5, 0.9, 1),
});

/** Few tasks with many ties and gaps, and how they are split. */
export const histories: fc.Arbitrary<{ readonly told: Told; readonly split: Split }> = fc.record({
  told: fc.record({ changes: fc.array(message, { maxLength: 120, size: 'max' }) }),
  split: splits,
});

/** As parents, tasks of the history. They have none themselves, or they might form a ring. */
const PARENTS: Readonly<Record<string, string>> = { p1: 't3', p2: 't4' };
const isParent = (id: string): boolean => Object.values(PARENTS).includes(id);

/** The same, of tasks that send each other. */
export const families: typeof histories = histories.map(({ told: { changes }, split }) => ({
  split,
  told: {
    changes: changes.map((change) => ({
      ...change,
      rootId: 't1',
      parentId: isParent(change.id) ? null : (PARENTS[change.parentId ?? ''] ?? null),
    })),
  },
}));

const several = <T>(...values: T[]) => fc.subarray(values);
const filters = fc.record({
  states: several('SUCCESS', 'STARTED', 'PROGRESS', 'NONE'),
  names: several('lab.add', 'zoo', 'unknown'),
  workers: several('w1@a', 'w2@b'),
  queues: several('q1', 'q2'),
  causes: several(...CAUSES.slice(0, 2), 'unknown'),
  rootId: fc.constantFrom(null, 't1', 'nobody'),
  parentId: fc.constantFrom(null, 'p1'),
  groupId: fc.constantFrom(null, 'g'),
  q: fc.constantFrom(null, 'needle'),
  since: fc.constantFrom(null, new Date(T0 + 5), new Date(T0 + 30)),
  until: fc.constantFrom(null, new Date(T0 + 20)),
  conditions: CONDITIONS,
});
const search = (task: Task) => String(task.args ?? '').includes('needle');

/** Most filters are off in most runs, else nothing is ever found. */
export const oneOrTwo: fc.Arbitrary<Partial<TaskQuery>> = filters.chain((all) =>
  fc.subarray(Object.keys(all) as (keyof typeof all)[], { maxLength: 2 }).map((keep) => {
    const chosen: Partial<TaskQuery> = Object.fromEntries(keep.map((key) => [key, all[key]]));
    return { ...chosen, search };
  }),
);
export const namesAndWorkers = fc.record({ names: several('lab.add', 'zoo'), workers: several(...WORKERS) });
export const lists = fc.record({
  sort: fc.constantFrom(...SORTS),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.constantFrom(1, 2, 3, 7, 50),
});

const COUNT = 14;
const ids = fc.integer({ min: 0, max: COUNT - 1 }).map((n) => `t${n}`);

/** Tasks that name each other in every way; a parent comes before its children. */
export const workflows = fc.record({
  told: fc
    .tuple(
      fc.array(
        fc.record({
          parent: fc.oneof(fc.constant(null), fc.nat({ max: COUNT })),
          groupId: fc.constantFrom('g1', 'g2', undefined, undefined, undefined),
          chordId: fc.constantFrom('t0', 'c1', undefined, undefined, undefined),
        }),
        { minLength: COUNT, maxLength: COUNT },
      ),
      fc.array(
        fc.record({
          parent: fc.oneof(ids, fc.constantFrom('g3', 'unknown')),
          child: ids,
          relation: fc.constantFrom('chain', 'link', 'group'),
        }),
        { maxLength: 4 },
      ),
    )
    .map(([tasks, relations]): Told => {
      const roots: string[] = [];
      const changes = tasks.map(({ parent, groupId, chordId }, n) => {
        const parentId = parent !== null && parent < n ? `t${parent}` : null;
        const rootId = parentId === null ? `t${n}` : (roots[parent ?? 0] as string);
        roots[n] = rootId;
        return told({
          ...{ id: `t${n}`, type: n % 3 === 0 ? 'failed' : 'succeeded', time: T0 + n, parentId, rootId },
          ...(groupId !== undefined && { groupId }),
          ...(chordId !== undefined && { chordId }),
          ...(n === 3 && { exception: 'E()', traceback: `${'line\n'.repeat(500)}E: the end` }),
        });
      });
      return { changes, relations: relations.filter(({ parent, child }) => parent !== child) };
    }),
  split: splits,
  asked: ids,
});
