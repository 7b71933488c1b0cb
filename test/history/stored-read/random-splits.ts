/** Random histories that are split between memory and a store, and random queries. */
import fc from 'fast-check';
import { createCauseFinder } from '../../../src/causes/find-cause.ts';
import type { HistoryReader, TaskChange } from '../../../src/history/history.ts';
import type { KeptTask } from '../../../src/history/memory/tap.ts';
import type { StoredTask, StoreSession } from '../../../src/history/store.ts';
import type { Task } from '../../../src/model.ts';
import { TASK_SORTS } from '../../../src/source/task-capabilities.ts';
import type { TaskQuery } from '../../../src/source.ts';
import { CONDITIONS } from '../../helpers/random-conditions.ts';
import { T0, told } from '../telling.ts';
import { droppedTasks, keptOf, memoryOf, type OpenMemory, readerOver, storedOf } from './split-history.ts';

const TYPES = ['sent', 'received', 'started', 'succeeded', 'failed', 'retried', 'revoked', 'custom'] as const;

/** Few tasks with many ties and gaps. */
const changes = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 30 }).map((n) => `t${n}`),
    type: fc.constantFrom(...TYPES),
    time: fc.integer({ min: 0, max: 40 }).map((n) => T0 + n),
    worker: fc.constantFrom('w1@a', 'w2@b', null),
    name: fc.constantFrom('lab.add', 'Lab.mul', 'zoo', '_é', undefined),
    queue: fc.constantFrom('q1', 'q2', undefined),
    runtime: fc.constantFrom(0.5, 1, 2),
    rootId: fc.constantFrom('t1', 't2', undefined),
    parentId: fc.constantFrom('p1', 'p2', undefined),
    groupId: fc.constantFrom('g', undefined),
    args: fc.constantFrom('(1,)', '(needle,)', undefined),
    eta: fc.constantFrom(T0 + 10, undefined),
    error: fc.integer({ min: 0, max: 3 }),
  }),
  { maxLength: 120, size: 'max' },
);

/** Errors of three causes. */
const ERRORS = [
  { exception: "ValueError('no 7')" },
  { exception: "KeyError('a')", traceback: traceOf('pay') },
  {
    exception: "KeyError('b')",
    traceback: `${'  File "/app/deep.py", line 1, in again\n'.repeat(8)}${traceOf('pay')}`,
  },
  { exception: "KeyError('c')", traceback: traceOf('refund') },
];

function traceOf(name: string): string {
  return `  File "/app/shop.py", line 7, in ${name}\n    raise error\nKeyError: 'x'`;
}

/** Causes that tasks may have, and one that none has. */
const CAUSES = ERRORS.map(({ exception, traceback = null }) => {
  const texts = { exception, traceback, isExceptionCut: false, isTracebackCut: false };
  return createCauseFinder(null)(texts)?.id ?? '';
});

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
export const namesAndWorkers = fc.record({
  names: several('lab.add', 'zoo'),
  workers: several('w1@a', 'w2@b'),
});
const search = (task: Task) => String(task.args ?? '').includes('needle');
export const oneOrTwo = filters.chain((all) =>
  fc.subarray(Object.keys(all) as (keyof typeof all)[], { maxLength: 2 }).map((keep) => {
    const chosen: Partial<TaskQuery> = Object.fromEntries(keep.map((key) => [key, all[key]]));
    return { ...chosen, search };
  }),
);
export const queries = fc.record({
  filter: oneOrTwo,
  sort: fc.constantFrom(...TASK_SORTS),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.constantFrom(1, 2, 3, 7, 50),
});

const asChange = ({ error, ...given }: Record<string, unknown>): TaskChange =>
  told({
    ...(given.type === 'failed' && ERRORS[error as number]),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    state: given.type === 'custom' ? 'PROGRESS' : undefined,
  } as never);

interface Split {
  readonly whole: OpenMemory;
  readonly reader: HistoryReader;
}

/** How a task is kept: in memory, in the store, in both, stored as it was before, or dropped and not written yet. */
type Kept = 'memory' | 'store' | 'both' | 'stale' | 'dropped' | 'droppedStale';

/** @param droppedThrough tasks that changed later are in memory, whatever `keptAs` says */
async function split(
  told: readonly TaskChange[],
  keptAs: (id: string) => Kept,
  droppedThrough: number,
  session: StoreSession,
): Promise<Split> {
  const whole = memoryOf(told);
  const earlier = memoryOf(told.slice(0, told.length / 2));
  const { records } = whole.state.tables;
  const kindOf = (id: string): Kept => {
    const isLate = (records.timestamp[records.slots.get(id) as number] as number) > droppedThrough;
    const kept = keptAs(id);
    if (!isLate) return kept;
    return kept === 'store' ? 'both' : kept === 'dropped' || kept === 'droppedStale' ? 'stale' : kept;
  };
  const ids = [...records.slots.keys()];
  const isHere = (id: string) => ['memory', 'both', 'stale'].includes(kindOf(id));
  const memory = memoryOf(told.filter(({ id }) => isHere(id)));
  const stored: StoredTask[] = [];
  const dropped: KeptTask[] = [];
  for (const id of ids) {
    const kind = kindOf(id);
    const kept = keptOf(kind === 'stale' || kind === 'droppedStale' ? earlier : whole, id);
    if (kept !== null && kind !== 'memory' && kind !== 'dropped') stored.push(storedOf(kept));
    const own = keptOf(whole, id);
    if (own !== null && (kind === 'dropped' || kind === 'droppedStale')) dropped.push(own);
  }
  await session.tasks.write(stored);
  const reader = readerOver(memory, () => session, {
    droppedThrough: () => droppedThrough,
    changedIds: () => ids.filter((id) => kindOf(id) === 'stale' || kindOf(id) === 'memory'),
    droppedTasks: () => droppedTasks(dropped),
  });
  return { whole, reader };
}

const KINDS = ['memory', 'store', 'both', 'stale'] as const;

export const splits = fc.record({
  told: changes,
  kinds: fc.array(fc.constantFrom(...KINDS), { minLength: 31, maxLength: 31 }),
  // Usually nothing is dropped before it is written.
  lost: fc.oneof(
    { weight: 2, arbitrary: fc.constant<number[]>([]) },
    { weight: 1, arbitrary: fc.array(fc.nat({ max: 30 }), { maxLength: 4 }) },
  ),
  droppedThrough: fc.constantFrom(T0 + 10, T0 + 25, Number.POSITIVE_INFINITY),
});

type Given = typeof splits extends fc.Arbitrary<infer Value> ? Value : never;

/** Splits a history as drawn. @param session of an empty store */
export function splitOf({ told, kinds, lost, droppedThrough }: Given, session: StoreSession) {
  return split(
    told.map((given) => asChange(given as never)),
    (id) => {
      const number = Number(id.slice(1));
      return lost.includes(number)
        ? number % 2 === 0
          ? 'dropped'
          : 'droppedStale'
        : (kinds[number] ?? 'both');
    },
    droppedThrough,
    session,
  );
}
