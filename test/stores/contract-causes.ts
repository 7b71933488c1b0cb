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

export function describeDroppedCauses(open: Open): void {
  const old = DAY - 9;
  const at = (hours: number): number => old * DAY_MS + hours * HOUR_MS;
  const failed = { state: 'FAILURE', name: 'pay', worker: 'w1', queue: 'q', day: old };

  it('keeps the sums of dropped days, and counts nothing twice', async () => {
    const { session } = await open();
    await session.tasks.write([
      taskOf('a', { ...failed, cause: 'c1', timestamp: at(1) }),
      taskOf('b', { ...failed, cause: 'c1', timestamp: at(2), worker: ODD, name: null }),
      // It was written that day, and failed later.
      taskOf('later', { ...failed, cause: 'c1', timestamp: at(30) }),
      taskOf('c', { ...failed, cause: 'c2', timestamp: at(2) }),
      taskOf('kept', { ...failed, cause: 'c1', timestamp: at(31), day: DAY }),
    ]);
    const { causes } = session;
    const asked = { ...ALL, from: at(0), to: at(48) };
    const read = async () => ({
      counts: await causes.counts(asked, 9),
      filtered: await causes.counts({ ...asked, workers: [ODD] }, 9),
      edges: await causes.counts({ ...asked, from: at(2), to: at(25) }, 9),
      hours: byStep(await causes.steps(asked, ['c1'], { first: at(0), ms: HOUR_MS })),
      days: byStep(await causes.steps(asked, ['c1'], { first: at(0), ms: DAY_MS })),
      filteredParts: summaryOf(await causes.parts({ ...asked, workers: [ODD] }, ['c1'], 9)),
      // Names and workers are those of the whole day.
      lastOfEarly: summaryOf(await causes.parts({ ...asked, to: at(2) }, ['c1'], 9))[0]?.[1].last,
      eights: byStep(await causes.steps(asked, ['c1'], { first: at(0), ms: 8 * HOUR_MS })),
      fives: byStep(await causes.steps({ ...asked, from: at(2) }, ['c1'], { first: at(2), ms: 5 * HOUR_MS })),
      parts: summaryOf(await causes.parts(asked, ['c1'], 99)),
    });
    const before = await read();
    expect(before).toMatchObject({
      counts: [count('c1', 4), count('c2', 1)],
      days: [
        [0, 2],
        [1, 2],
      ],
      hours: [
        [1, 1],
        [2, 1],
        [30, 1],
        [31, 1],
      ],
    });
    for (let turn = 0; turn < 2; turn++) {
      await session.tasks.dropBefore(DAY - 7, DAY);
      expect(await session.tasks.known(['a', 'later', 'kept'])).toEqual(new Set(['kept']));
      const after = await read();
      expect(after).toEqual(before);
    }
    expect(samplesOf(await causes.parts(asked, ['c1'], 9))).toEqual({ c1: 'kept' });
    const gone = { ...asked, to: at(30) };
    expect(samplesOf(await causes.parts(gone, ['c1'], 9))).toEqual({});
    // What comes with the day of dropped ones is of a clock that is wrong.
    await session.tasks.write([taskOf('wrong', { ...failed, cause: 'c1', timestamp: at(1) })]);
    expect(await read()).toEqual(before);
    await causes.dropBefore(at(24));
    expect(await causes.counts(asked, 9)).toEqual([count('c1', 2)]);
  });

  it('keeps the thousand most frequent causes of dropped days apart', async () => {
    const { session } = await open();
    const twice = Array.from({ length: 999 }, (_, index) =>
      index % 2 === 0 ? [`x${index}`] : [`x${index}`, `y${index}`],
    );
    await session.tasks.write([
      ...twice.flatMap((ids, index) =>
        ids.map((id) => taskOf(id, { ...failed, cause: `c${index}`, timestamp: at(1) })),
      ),
      ...['c-rare1', 'c-rare2', 'z-rare'].map((cause) =>
        taskOf(cause, { ...failed, cause, timestamp: at(1) }),
      ),
    ]);
    await session.tasks.dropBefore(DAY - 7, DAY);
    const counts = await session.causes.counts({ ...ALL, from: at(0), to: at(24) }, 2_000);
    expect(counts).toHaveLength(1_001);
    expect(counts.find(({ cause }) => cause === '')).toEqual(count('', 2));
    expect(counts.map(({ cause }) => cause)).not.toContain('z-rare');
    // Nobody knows whether those were of another name.
    const other = { ...ALL, names: ['other'], from: at(0), to: at(24) };
    expect(await session.causes.counts(other, 2_000)).toEqual([count('', 2)]);
  });

  it('keeps the most frequent names and workers of causes, and the rest of their failures', async () => {
    const { session } = await open();
    const workers = Array.from({ length: 5_001 }, (_, index) => `w${index}`);
    await session.tasks.write([
      ...workers.map((worker, index) =>
        taskOf(`t${index}`, { ...failed, cause: 'c1', worker, timestamp: at(1) }),
      ),
      taskOf('again', { ...failed, cause: 'c1', worker: 'w7', timestamp: at(3) }),
    ]);
    await session.tasks.dropBefore(DAY - 7, DAY);
    const asked = { ...ALL, from: at(0), to: at(24) };
    const [[, { names, workers: listed, last } = {}] = []] = summaryOf(
      await session.causes.parts(asked, ['c1'], 99),
    );
    expect({ names, last, many: Object.keys(listed ?? {}).length, again: listed?.w7 }).toEqual({
      ...{ names: { pay: 5_002 }, last: at(3), many: 20, again: 2 },
    });
    expect(await session.causes.counts(asked, 9)).toEqual([count('c1', 5_002)]);
    const filtered = await session.causes.counts({ ...asked, workers: ['w7'] }, 9);
    expect(filtered.toSorted((a, b) => b.count - a.count)).toEqual([count('c1', 2), count('', 1)]);
  });

  it('keeps the sums of every source whose tasks are dropped', async () => {
    const one = await open();
    const two = await open({ store: one.store });
    for (const { session } of [one, two])
      await session.tasks.write([taskOf('a', { ...failed, cause: 'c1', timestamp: at(1) })]);
    await one.session.tasks.dropBefore(DAY - 7, DAY);
    for (const { session } of [one, two])
      expect(await session.causes.counts({ ...ALL, from: at(0), to: at(24) }, 9)).toEqual([count('c1', 1)]);
  });
}

type CausePart = Awaited<ReturnType<StoreSession['causes']['parts']>>[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ALL = { names: [], queues: [], workers: [] };

const count = (cause: string, many: number) => ({ cause, count: many });

const byStep = (steps: readonly { readonly step: number; readonly count: number }[]) => {
  const sums = new Map<number, number>();
  for (const { step, count: many } of steps) sums.set(step, (sums.get(step) ?? 0) + many);
  return [...sums].toSorted(([a], [b]) => a - b);
};

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
