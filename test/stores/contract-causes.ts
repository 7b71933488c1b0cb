/** What every store must do with the causes of failures. */
import { expect, it } from 'vitest';
import type { StoreSession } from '../../src/history/store.ts';
import { DAY, ODD, type Open, storedQuery, taskOf, walk } from './samples.ts';

export function describeCauses(open: Open): void {
  it('finds failures by their cause, newest first', async () => {
    const { session } = await open();
    const failed = { state: 'FAILURE', cause: 'c1' };
    await session.tasks.write([
      taskOf('old', { ...failed, timestamp: 1, day: DAY - 1 }),
      taskOf('new', { ...failed, timestamp: 3 }),
      taskOf('other', { ...failed, cause: 'c2', timestamp: 2 }),
      taskOf('none', { ...failed, cause: '', timestamp: 4 }),
      taskOf('unknown', { ...failed, cause: null, timestamp: 5 }),
    ]);
    expect(await walk(session, { causes: ['c1'], limit: 1 })).toEqual(['new', 'old']);
    expect(await walk(session, { causes: ['c1', 'c2', 'c3'] })).toEqual(['new', 'other', 'old']);
    expect(await session.tasks.count(storedQuery({ causes: ['c1'], since: new Date(2) }), 9)).toBe(1);
    const again = taskOf('new', { version: 2, timestamp: 6 });
    expect(await session.tasks.write([again])).toEqual(new Set(['new']));
    expect(await walk(session, { causes: ['c1'] })).toEqual(['old']);
    expect((await session.tasks.read(['other', 'none'])).map(({ cause }) => cause).toSorted()).toEqual([
      '',
      'c2',
    ]);
  });

  it('keeps the texts of causes, and when they were seen first and last', async () => {
    const { session } = await open();
    const cause = { id: 'c1', exception: 'KeyError', message: null, frame: ODD, firstSeen: 5, lastSeen: 6 };
    await session.causes.note([cause]);
    await session.causes.note([{ ...cause, firstSeen: 7, lastSeen: 9 }]);
    await session.causes.note([{ ...cause, firstSeen: 3, lastSeen: 4 }]);
    expect(await session.causes.describe(['c1', 'absent'])).toEqual([
      { ...cause, firstSeen: 3, lastSeen: 9 },
    ]);
    await session.causes.dropBefore(9);
    expect(await session.causes.describe(['c1'])).toHaveLength(1);
    await session.causes.dropBefore(10);
    expect(await session.causes.describe(['c1'])).toEqual([]);
  });

  it('counts failures by cause, name, worker and step, and those no more that succeeded after all', async () => {
    const { session } = await open();
    const failed = { state: 'FAILURE', name: 'pay', worker: 'w1', queue: 'q' };
    const at = (hours: number): number => DAY * DAY_MS + hours * HOUR_MS;
    await session.tasks.write([
      taskOf('a', { ...failed, cause: 'c1', timestamp: at(0) }),
      taskOf('b', { ...failed, cause: 'c1', timestamp: at(1), worker: 'w2' }),
      taskOf('c', { ...failed, cause: 'c2', timestamp: at(1), name: null, worker: null }),
      taskOf('late', { ...failed, cause: 'c2', timestamp: at(2) }),
      taskOf('none', { ...failed, cause: '', timestamp: at(1) }),
      taskOf('unknown', { ...failed, cause: null, timestamp: at(1) }),
      // As a version that knew no causes left it.
      taskOf('done', { ...failed, cause: 'c1', state: 'SUCCESS', timestamp: at(1) }),
    ]);
    const { causes } = session;
    const asked = { ...ALL, from: at(0), to: at(2) };
    expect(await causes.counts(asked, 9)).toEqual([count('c1', 2), count('c2', 1)]);
    expect(await causes.counts(asked, 1)).toEqual([count('c1', 2)]);
    expect(await causes.counts({ ...asked, names: ['pay'], workers: ['w2'], queues: ['q'] }, 9)).toEqual([
      count('c1', 1),
    ]);
    const parts = await causes.parts(asked, ['c1', 'c2'], 9);
    expect(summaryOf(parts)).toEqual([
      ['c1', { names: { pay: 2 }, workers: { w1: 1, w2: 1 }, last: at(1) }],
      ['c2', { names: {}, workers: {}, last: at(1) }],
    ]);
    expect(samplesOf(parts)).toEqual({ c1: 'b', c2: 'c' });
    const steps = await causes.steps(asked, ['c1'], { first: at(0), ms: HOUR_MS });
    expect(steps.toSorted((a, b) => a.step - b.step)).toEqual([
      { ...count('c1', 1), step: 0 },
      { ...count('c1', 1), step: 1 },
    ]);
    await session.tasks.write([taskOf('a', { version: 2, timestamp: at(3) })]);
    expect(await causes.counts(asked, 9)).toEqual([count('c1', 1), count('c2', 1)]);
  });
}

type CausePart = Awaited<ReturnType<StoreSession['causes']['parts']>>[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ALL = { names: [], queues: [], workers: [] };

const count = (cause: string, many: number) => ({ cause, count: many });

/** What parts say about each cause, however they are divided. */
function summaryOf(parts: readonly CausePart[]) {
  const causes = [...new Set(parts.map(({ cause }) => cause))].sort();
  return causes.map((cause) => {
    const own = parts.filter((part) => part.cause === cause);
    const listed = (of: 'name' | 'worker') => {
      const sums = new Map<string, number>();
      for (const { [of]: text, count: many } of own)
        if (text !== null) sums.set(text, (sums.get(text) ?? 0) + many);
      return Object.fromEntries(sums);
    };
    const last = Math.max(...own.map((part) => part.last));
    return [cause, { names: listed('name'), workers: listed('worker'), last }] as const;
  });
}

/** The newest sample of each cause. */
function samplesOf(parts: readonly CausePart[]) {
  const oldestFirst = parts.filter(({ sample }) => sample !== null).toSorted((a, b) => a.last - b.last);
  return Object.fromEntries(oldestFirst.map(({ cause, sample }) => [cause, sample]));
}
