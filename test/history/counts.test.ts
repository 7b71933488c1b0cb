import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { TaskStats } from '../../src/source.ts';
import { CONTEXT, query, T0, told } from './telling.ts';

/** What a history counts by minute, as rules read it; and queues over time. */

const MINUTE = 60_000;
const at = (minute: number): number => T0 + minute * MINUTE;

/** A history whose clock the test moves, and its counts. */
function counting(options: MemoryHistoryOptions = {}, start = 10) {
  const clock = { now: at(start) };
  const history = createMemoryHistory({ now: () => clock.now, ...options });
  let last = 0;
  return {
    history,
    moveTo(minute: number) {
      clock.now = at(minute);
    },
    record: (...changes: readonly TaskChange[]) => {
      for (const change of changes) history.writer.recordTask(change);
    },
    /** Tells that a task of a name failed. */
    fail: (name: string, minute: number) =>
      history.writer.recordTask(told({ id: `f${++last}`, type: 'failed', name, time: at(minute) })),
    counts: async () => (await history.reader.getActivity(CONTEXT)).counts,
  };
}

describe('the counts of a history', () => {
  it('are kept by name and minute', async () => {
    const { record, fail, counts } = counting();
    record(
      told({ id: '1', type: 'succeeded', name: 'a', time: at(0) + 59_999 }),
      told({ id: '2', type: 'succeeded', name: 'a', time: at(1) }),
    );
    fail('a', 1);
    fail('b', 1);
    const found = await counts();
    expect(found.names()).toEqual(['a', 'b']);
    expect(found.counts('a', at(0), at(2))).toMatchObject({ succeeded: 2, failed: 1, retried: 0 });
    expect(found.counts('a', at(1), at(2))).toMatchObject({ succeeded: 1, failed: 1 });
    expect(found.counts('b', at(0), at(1))).toMatchObject({ failed: 0 });
    expect(found.counts('c', at(0), at(9))).toMatchObject({ failed: 0 });
  });

  it('date what is ahead of time now, and have nothing older than a day', async () => {
    const { fail, counts, moveTo } = counting({}, 0);
    fail('a', 3);
    expect((await counts()).counts('a', at(0), at(1)).failed).toBe(1);
    fail('a', -1_440);
    expect((await counts()).counts('a', at(-2_000), at(5)).failed).toBe(1);
    moveTo(1_440);
    fail('a', 1_440);
    expect((await counts()).counts('a', at(-2_000), at(2_000)).failed).toBe(1);
  });

  it('begin anew when the clock was set back by more than a day', async () => {
    const { fail, counts, moveTo } = counting({}, 10_000);
    fail('a', 10_000);
    moveTo(0);
    fail('b', 0);
    expect((await counts()).names()).toEqual(['b']);
  });

  it('forget names without counts, and count names beyond a thousand together', async () => {
    const { fail, counts, moveTo } = counting({}, 0);
    for (let name = 0; name < 1_500; name++) fail(`n${name}`, 0);
    const found = await counts();
    expect(found.names()).toHaveLength(1_000);
    const all = found.names().map((name) => found.counts(name, at(0), at(1)).failed);
    expect(all.reduce((sum, failed) => sum + failed, 0)).toBe(1_500);
    expect(Math.max(...all)).toBe(501);
    moveTo(1_440);
    fail('new', 1_440);
    const later = await counts();
    expect(later.names()).toEqual(['new']);
    expect(later.counts('new', at(0), at(2_000)).failed).toBe(1);
  });

  it('lose their oldest minutes when their part of the memory is full, and no others', async () => {
    const { fail, counts, moveTo, history } = counting({ maxBytes: 1024 * 1024, maxTasks: 10 }, 0);
    for (let minute = 0; minute < 300; minute++) {
      moveTo(minute);
      for (const name of ['a', 'b', 'c']) fail(name, minute);
    }
    const found = await counts();
    const kept = Array.from({ length: 300 }, (_, n) => found.counts('b', at(n), at(n + 1)).failed);
    const first = kept.indexOf(1);
    expect(first).toBeGreaterThan(0);
    expect(kept).toEqual(kept.map((_, n) => (n < first ? 0 : 1)));
    expect((await history.reader.getStats(CONTEXT)).bytes).toBeLessThanOrEqual(1024 * 1024);
  });

  it('are the sum of what was told, in whatever order', async () => {
    const events = fc.array(
      fc.record({ name: fc.constantFrom('a', 'b', 'c'), minute: fc.integer({ min: 0, max: 30 }) }),
    );
    const property = fc.asyncProperty(events, async (list) => {
      const { fail, counts, history } = counting({}, 30);
      for (const { name, minute } of list) fail(name, minute);
      const found = await counts();
      for (const name of ['a', 'b', 'c']) {
        const own = list.filter((event) => event.name === name && event.minute >= 10);
        expect(found.counts(name, at(10), at(31)).failed).toBe(own.length);
      }
      history.close();
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it('have quantiles that are at most half above the true one, or a third below it', async () => {
    const durations = fc.array(fc.integer({ min: 4, max: 100_000_000 }), { minLength: 1 });
    const property = fc.asyncProperty(durations, fc.constantFrom(0.5, 0.95, 0.99), async (list, share) => {
      const { record, counts, history } = counting({}, 30);
      for (const [n, ms] of list.entries()) {
        record(told({ id: `${n}`, type: 'succeeded', name: 'a', time: at(30), runtime: ms / 1_000 }));
      }
      const sorted = list.toSorted((a, b) => a - b);
      const exact = sorted[Math.ceil(share * sorted.length) - 1] as number;
      const found = (await counts()).quantile('run', 'a', at(30), at(31), share) as number;
      expect(found / exact).toBeGreaterThan(2 / 3 - 1e-9);
      expect(found / exact).toBeLessThan(1.5 + 1e-9);
      history.close();
    });
    await fc.assert(property, { numRuns: 60 });
    expect((await counting().counts()).quantile('run', 'a', at(0), at(9), 0.5)).toBeNull();
  });
});

describe('a history counts', () => {
  const run: readonly TaskChange[] = [
    told({ type: 'sent', name: 'pay', time: at(0) }),
    told({ type: 'received', name: 'pay', worker: 'w', time: at(1) }),
    told({ type: 'started', worker: 'w', time: at(2) }),
    told({ type: 'retried', worker: 'w', time: at(3), exception: 'E' }),
    told({ type: 'received', name: 'pay', worker: 'w', time: at(4), retries: 1, eta: at(5) }),
    told({ type: 'started', worker: 'w', time: at(6), retries: 1 }),
    told({ type: 'failed', worker: 'w', time: at(8), exception: 'E' }),
  ];
  const countsOf = async (changes: readonly TaskChange[]) => {
    const { record, counts } = counting();
    record(...changes);
    return await counts();
  };

  it('each event once, retries when they happen', async () => {
    const counts = await countsOf([...run, ...run]);
    expect(counts.counts('pay', at(0), at(9))).toEqual({
      ...{ sent: 1, received: 2, started: 2, succeeded: 0, failed: 1, retried: 1, revoked: 0, rejected: 0 },
    });
    expect(counts.counts('pay', at(3), at(4)).retried).toBe(1);
  });

  it.each([
    ['waits from when it was sent', 'wait', 2, 2 * MINUTE],
    ['waits from its eta, for each attempt', 'wait', 6, MINUTE],
    ['runs of what failed', 'run', 8, 2 * MINUTE],
  ] as const)('%s', async (_, kind, minute, expected) => {
    const found = (await countsOf(run)).quantile(kind, 'pay', at(minute), at(minute + 1), 0.5) ?? 0;
    expect(found).toBeGreaterThan(expected / 1.5);
    expect(found).toBeLessThan(expected * 1.5);
  });

  it('what worker and backend both report once, whichever comes first', async () => {
    const event = told({ type: 'succeeded', worker: 'w', time: at(2), runtime: 1 });
    const result = told({ type: 'succeeded', origin: 'result', time: at(2) + 5 });
    const stored = { ...result, stored: true };
    const start = told({ type: 'started', worker: 'w', name: 'pay', time: at(1) });
    for (const [first, second] of [
      [event, result],
      [result, event],
      [event, stored],
      [stored, event],
      [stored, result],
    ] as const) {
      expect((await countsOf([start, first, second])).counts('pay', at(0), at(9)).succeeded).toBe(1);
    }
  });

  it('of what was stored only ends with a time', async () => {
    const stored = { stored: true, origin: 'result', name: 'pay' } as const;
    const counts = await countsOf([
      told({ id: '1', type: 'started', time: null, heardAt: at(1), ...stored }),
      told({ id: '2', type: 'succeeded', time: at(2), ...stored }),
      told({ id: '3', type: 'succeeded', time: null, ...stored }),
    ]);
    expect(counts.counts('pay', at(0), at(11))).toMatchObject({ started: 0, succeeded: 1 });
  });
});

describe('queues over time', () => {
  const depthsOf = async (
    { history }: ReturnType<typeof counting>,
    minutes: number,
    end: number,
    queues: string[] = [],
  ) => {
    const asked = { minutes, now: new Date(end), stepSeconds: 60, filter: query({ queues }) };
    return (await history.reader.getTaskStats(asked, CONTEXT)).queueDepths ?? [];
  };

  it('have the queue of a worker that has one alone', async () => {
    const lab = counting({}, 1);
    const { writer, reader } = lab.history;
    writer.recordWorker({ hostname: 'w', type: 'heartbeat', time: T0, queues: ['mail'] });
    writer.recordQueue('mail', 7, T0, true);
    for (const id of ['a', 'b']) {
      writer.recordTask(told({ id, type: 'received', name: 'send', worker: 'w', time: at(1) - 1 }));
    }
    const [mail, ...others] = await depthsOf(lab, 5, at(1));
    expect(others).toEqual([]);
    expect(mail).toMatchObject({ queue: 'mail', oldestAtLeast: true, growingSince: null });
    expect(mail?.waiting.at(-1)).toBe(7);
    expect(mail?.oldestSeconds.at(-1)).toBe(60);
    expect(mail?.received?.at(-2)).toBe(2);
    expect((await reader.getActivity(CONTEXT)).growing).toEqual([]);
  });

  it('are kept for a day, and fewer minutes of many queues', async () => {
    const lab = counting({}, 0);
    for (let minute = 0; minute < 1_500; minute++) {
      lab.moveTo(minute);
      lab.history.writer.recordQueue('q', minute, null);
    }
    // The oldest reading of the window is a day old.
    const whole = async () => {
      const asked = { minutes: 1_600, now: new Date(at(1_500)), stepSeconds: 600, filter: query() };
      return (await lab.history.reader.getTaskStats(asked, CONTEXT)).queueDepths?.[0]?.waiting ?? [];
    };
    const known = (await whole()).filter((waiting) => waiting !== null);
    expect(Math.min(...known)).toBeGreaterThanOrEqual(1_500 - 1_440);
    expect(Math.max(...known)).toBe(1_499);
    const many = counting({}, 0);
    for (let minute = 0; minute < 100; minute++) {
      many.moveTo(minute);
      for (let queue = 0; queue < 1_200; queue++) many.history.writer.recordQueue(`q${queue}`, 1, null);
    }
    const [first] = await depthsOf(many, 100, at(100), ['q0']);
    const kept = first?.waiting.filter((waiting) => waiting !== null) ?? [];
    expect(kept.length).toBeGreaterThan(5);
    expect(kept.length).toBeLessThan(25);
    many.history.close();
    expect(await depthsOf(many, 100, at(100))).toEqual([]);
  });

  it('leave out times that nobody can have seen', async () => {
    const lab = counting({}, 0);
    lab.record(told({ id: 'a', type: 'sent', queue: 'q', time: at(-2_000) }));
    expect(await depthsOf(lab, 60, at(1), ['q'])).toEqual([]);
    lab.record(told({ id: 'b', type: 'sent', queue: 'q', time: at(0) }));
    lab.history.writer.recordQueue('q', 1, null);
    const [depth] = await depthsOf(lab, 60, at(1), ['q']);
    expect(depth?.sent?.reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(1);
  });
});

/** A history that starts at T0, ten minutes later. */
function tenMinutes(options: MemoryHistoryOptions = {}) {
  let now = T0;
  const history = createMemoryHistory({ now: () => now, ...options });
  now = at(10);
  const stats = async (minutes = 20): Promise<TaskStats> =>
    await history.reader.getTaskStats({ minutes, now: new Date(at(10)), filter: query({}) }, CONTEXT);
  return {
    record: (...changes: readonly TaskChange[]) => {
      for (const change of changes) history.writer.recordTask(change);
    },
    moveTo(minute: number) {
      now = at(minute);
    },
    writer: history.writer,
    stats,
    /** The series by minute of its steps, over so many minutes. */
    async series(minutes = 20): Promise<Map<number, TaskStats['series'][number]>> {
      const { series } = await stats(minutes);
      return new Map(series.map((step) => [(step.t.getTime() - T0) / MINUTE, step]));
    },
  };
}

describe('the series of stats', () => {
  const retriedTwice: readonly TaskChange[] = [
    told({ type: 'received', name: 'pay', worker: 'w', time: at(1) }),
    told({ type: 'started', worker: 'w', time: at(1) + 1 }),
    told({ type: 'retried', worker: 'w', time: at(1) + 2 }),
    told({ type: 'received', name: 'pay', worker: 'w', retries: 1, time: at(3) }),
    told({ type: 'started', worker: 'w', retries: 1, time: at(3) + 1 }),
    told({ type: 'retried', worker: 'w', retries: 1, time: at(3) + 2 }),
    told({ type: 'received', name: 'pay', worker: 'w', retries: 2, time: at(5) }),
    told({ type: 'started', worker: 'w', retries: 2, time: at(5) + 1 }),
    told({ type: 'succeeded', worker: 'w', time: at(6) }),
  ];

  it('counts retries when they happen, also of a task that has ended since', async () => {
    const { record, series } = tenMinutes();
    record(...retriedTwice);
    const steps = await series(8);
    expect([...steps].flatMap(([minute, { retried }]) => (retried ? [[minute, retried]] : []))).toEqual([
      [3, 1],
    ]);
    const whole = await series();
    const retries = [...whole]
      .filter(([minute]) => minute >= 0)
      .map(([, { retried }]) => retried ?? Number.NaN);
    expect(retries.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  it('counts a retry that the backend reports as well once', async () => {
    const { record, series } = tenMinutes();
    record(
      ...retriedTwice.slice(0, 3),
      told({ type: 'retried', origin: 'result', time: null, heardAt: at(1) + 9 }),
    );
    expect((await series()).get(1)?.retried).toBe(1);
  });

  it('does not know what happened before the history began, but for stored results', async () => {
    const { record, series } = tenMinutes();
    record(told({ id: 'old', type: 'succeeded', origin: 'result', stored: true, time: at(-5) }));
    record(...retriedTwice);
    const steps = await series();
    expect(steps.get(-5)).toMatchObject({ received: null, succeeded: 1, failed: null, retried: null });
    expect(steps.get(-6)).toMatchObject({ received: null, succeeded: null, failed: null, retried: null });
    expect(steps.get(2)).toMatchObject({ received: 0, succeeded: 0, failed: 0, retried: 0 });
  });

  it('have totals since the last step of which something is unknown', async () => {
    const { record, stats, writer, moveTo } = tenMinutes();
    record(told({ id: 'old', type: 'succeeded', origin: 'result', stored: true, time: at(-5) }));
    record(...retriedTwice);
    const sums = { received: 1, succeeded: 1, failed: 0, retried: 2 };
    expect((await stats()).totals).toMatchObject({ since: new Date(at(0)), ...sums });
    moveTo(4);
    writer.freezeAt(new Date(at(4)));
    moveTo(5);
    writer.freezeAt(null);
    moveTo(10);
    // The last attempt was received at five.
    expect((await stats()).totals).toMatchObject({
      since: new Date(at(5) + MINUTE / 2),
      received: 0,
      succeeded: 1,
      retried: 0,
    });
    writer.freezeAt(new Date(at(9)));
    const unknown = { received: null, succeeded: null, failed: null, retried: null };
    expect((await stats()).totals).toMatchObject({ since: null, ...unknown });
  });

  it('does not know what happened while nothing could be heard', async () => {
    const { moveTo, writer, series } = tenMinutes();
    moveTo(4);
    writer.freezeAt(new Date(at(4)));
    moveTo(6);
    writer.freezeAt(null);
    moveTo(10);
    const steps = await series();
    expect([3, 4, 5, 6, 7].map((minute) => steps.get(minute)?.received)).toEqual([0, null, null, null, 0]);
    writer.freezeAt(new Date(at(9)));
    expect((await series()).get(9)?.received).toBeNull();
  });

  it('does not know what nobody reports, but for results', async () => {
    const { record, series } = tenMinutes({ eventless: true });
    record(told({ type: 'succeeded', origin: 'result', time: at(2) }));
    const steps = await series();
    expect(steps.get(2)).toMatchObject({ received: null, succeeded: 1, failed: null, retried: null });
  });

  it('knows what a host reports later', async () => {
    const { record, series } = tenMinutes({ backdated: true });
    record(told({ type: 'received', name: 'pay', worker: 'w', time: at(-5) }));
    const steps = await series();
    expect([-6, -5, -4].map((minute) => steps.get(minute)?.received)).toEqual([null, 1, 0]);
  });
});
