import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { merge } from '../../src/history/merge/merge.ts';
import { mergeRecords } from '../../src/history/merge/merge-records.ts';
import { emptyRecord, type TaskRecord } from '../../src/history/merge/record.ts';
import { toTaskDetail } from '../../src/history/merge/task.ts';
import { T0, told } from './telling.ts';

/** A message, and when it arrives at every instance that hears it. */
interface Arrival {
  readonly change: TaskChange;
  readonly at: number;
}

function fold(arrivals: readonly Arrival[], from: TaskRecord = emptyRecord('a')): TaskRecord {
  return arrivals.reduce((record, { change, at }) => merge(record, change, at), from);
}

/** What is shown of a task, and what decides about later messages. */
function known(record: TaskRecord) {
  const { ranks, isMissing, hasNoParent, truncated } = record;
  return {
    ...toTaskDetail(record),
    truncated: [...truncated].sort(),
    ranks: { ...ranks },
    isMissing,
    hasNoParent,
  };
}

const WORKERS = ['w1@a', 'w2@b'] as const;

/** Messages of one task in any order, each with a time of its own, as clients and workers send them. */
const dated = fc.record({
  at: fc.integer({ min: 0, max: 500 }),
  type: fc.constantFrom(
    ...(['sent', 'received', 'started', 'custom', 'retried', 'requeued', 'failed', 'succeeded'] as const),
    ...(['revoked', 'rejected', 'propagated', 'stored sent', 'stored end'] as const),
  ),
  worker: fc.constantFrom(...WORKERS),
  retries: fc.integer({ min: 0, max: 2 }),
  isResult: fc.boolean(),
  isCut: fc.boolean(),
  text: fc.constantFrom('a', 'b', 'c'),
});

type Dated = typeof dated extends fc.Arbitrary<infer Value> ? Value : never;

/** What is read of a task is the same wherever it is read. */
const WAITING = {
  ...{ name: 'read', args: 'q', kwargs: '{}', queue: 'q', rootId: 'q', parentId: 'q', chordId: 'body' },
};

function asChange({ at, type, worker, retries, isResult, isCut, text }: Dated): TaskChange {
  const time = T0 + at;
  const message = { name: `sent.${text}`, args: text, kwargs: '{}', rootId: text, parentId: text, eta: time };
  if (type === 'sent') return told({ type, time, retries, queue: text, ...message });
  if (type === 'stored sent') {
    return told({ type: 'sent', time: null, stored: true, retries, ...WAITING });
  }
  if (type === 'stored end') {
    return told({
      type: 'succeeded',
      time,
      origin: 'result',
      stored: true,
      retries,
      name: 'read',
      result: text,
    });
  }
  if (type === 'propagated') {
    return told({ type: 'failed', time, origin: 'result', isConsequence: true, exception: text, retries });
  }
  const isEnd = type === 'failed' || type === 'succeeded';
  if (isResult && isEnd) {
    const field = type === 'failed' ? 'exception' : 'result';
    return told({ type, time, retries, origin: 'result', [field]: `${text} whole` });
  }
  const by = { type, time, worker };
  if (type === 'received') {
    return told({ ...by, retries, ...message, name: `got.${text}`, eta: null, parentId: null });
  }
  if (type === 'custom') {
    const progress = { current: at, total: null, percent: null, text };
    return told({ ...by, state: `DOING_${text}`, ...(isCut && { progress }) });
  }
  if (type === 'succeeded') {
    return told({ ...by, result: text, runtime: at, ...(isCut && { truncated: ['result'] }) });
  }
  return told(isEnd || type === 'retried' ? { ...by, exception: text, traceback: `T${text}` } : by);
}

/** Each heard by one instance, the other, or both. */
const heard = fc.constantFrom<readonly (0 | 1)[]>([0], [1], [0, 1]);

const split = fc.array(fc.tuple(dated, heard), { maxLength: 10, size: 'max' });

/** Whether the order in which these arrive makes no difference to one instance. */
function isUnordered(all: readonly Arrival[], one: readonly Arrival[], other: readonly Arrival[]): boolean {
  const whole = JSON.stringify(known(fold(all)));
  const orders = [all.toReversed(), [...one, ...other], [...other, ...one]];
  return orders.every((order) => JSON.stringify(known(fold(order))) === whole);
}

function expectMerged(all: readonly Arrival[], one: readonly Arrival[], other: readonly Arrival[]): void {
  const [a, b] = [fold(one), fold(other)];
  const whole = known(fold(all));
  expect(known(mergeRecords(a, b))).toEqual(whole);
  expect(known(mergeRecords(b, a))).toEqual(whole);
}

describe('two records of one task', () => {
  it('make what one instance would know that had heard all of it', () => {
    let [count, judged] = [0, 0];
    fc.assert(
      fc.property(split, (parts) => {
        const unique = parts.filter(([{ at }], n) => parts.findIndex(([other]) => other.at === at) === n);
        const all = unique.map(([given], n) => ({ change: asChange(given), at: T0 + 10_000 + 7 * n }));
        const of = (instance: 0 | 1) => all.filter((_, n) => unique[n]?.[1].includes(instance));
        count++;
        if (!isUnordered(all, of(0), of(1))) return;
        judged++;
        expectMerged(all, of(0), of(1));
      }),
      { seed: 5, numRuns: 600 },
    );
    expect(judged).toBeGreaterThan(count / 2);
  }, 60_000);

  it('count the attempts that the backend does not number as one instance would', () => {
    fc.assert(
      fc.property(lives, fc.nat(), fc.nat(), fc.boolean(), (life, end, start, isRead) => {
        const all = life.map((change, n) => ({ change, at: T0 + 10 + 1_000 * n }));
        const to = end % (all.length + 1);
        const from = start % (all.length + 1);
        // What was heard by an instance that stopped, and by one that started, earlier or later.
        const one = all.slice(0, to);
        const other = all.slice(from);
        const [first] = other;
        // At its start, an instance reads the state from where it is stored.
        if (isRead && first?.change.origin === 'result') {
          other[0] = { change: { ...first.change, stored: true }, at: first.at };
        }
        const both = [...one, ...other].sort((a, b) => a.at - b.at);
        expectMerged(both, one, other);
      }),
      { seed: 8, numRuns: 600 },
    );
  }, 60_000);
});

/** What backend and worker report of a task that is retried some times. */
const lives = fc
  .record({
    retries: fc.nat({ max: 3 }),
    hasEvents: fc.boolean(),
    hasStarted: fc.boolean(),
    isNumbered: fc.boolean(),
    end: fc.constantFrom<TaskChange['type'] | null>('succeeded', 'failed', null),
    custom: fc.boolean(),
  })
  .map(({ retries, hasEvents, hasStarted, isNumbered, end, custom }) => {
    const life: TaskChange[] = [];
    const at = () => T0 + 1_000 * life.length;
    const result = (change: Partial<TaskChange> & Pick<TaskChange, 'type'>, attempt: number) =>
      life.push(told({ time: null, origin: 'result', ...(isNumbered && { retries: attempt }), ...change }));
    const event = (change: Partial<TaskChange> & Pick<TaskChange, 'type'>) =>
      hasEvents && life.push(told({ worker: 'w1@a', time: at(), ...change }));
    event({ type: 'sent', retries: 0, name: 'n', args: 'x', worker: null });
    for (let attempt = 0; attempt <= retries; attempt++) {
      event({ type: 'received', retries: attempt, name: 'n', args: 'x' });
      event({ type: 'started' });
      if (hasStarted) result({ type: 'started', worker: 'w1@a' }, attempt);
      if (custom) result({ type: 'custom', state: 'DOING' }, attempt);
      if (attempt === retries) break;
      // One RETRY after another is taken for the same, and its exception is not looked at.
      const text = isNumbered ? attempt : '';
      result({ type: 'retried', exception: `E${text}`, traceback: `T${text}` }, attempt);
      event({ type: 'retried', exception: `E${text}`, traceback: `T${text}` });
    }
    if (end !== null) {
      result(
        { type: end, time: at(), ...(end === 'failed' ? { exception: 'E' } : { result: 'R' }) },
        retries,
      );
      event({ type: end, runtime: 2, ...(end === 'failed' ? { exception: 'E' } : { result: 'R' }) });
    }
    return life;
  });
