import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMinuteAggregate } from '../../src/history/aggregate/minute-aggregate.ts';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryState } from '../../src/history/memory/memory-state.ts';
import { createMemoryWriter } from '../../src/history/memory/memory-writer.ts';
import { createRecorder } from '../../src/history/memory/task-recorder.ts';
import { BUCKETS, bucketOf, leastOf, quantileOf } from '../../src/select/histogram.ts';
import { T0, told } from './telling.ts';

const MIB = 1024 * 1024;
const MINUTE = 60_000;
const at = (minute: number): number => T0 + minute * MINUTE;

describe('the buckets of durations', () => {
  it('follow each other, the bounds of each less than a factor of two apart', () => {
    for (let bucket = 0; bucket < BUCKETS - 1; bucket++) {
      expect(bucketOf(leastOf(bucket))).toBe(bucket);
      expect(bucketOf(leastOf(bucket + 1) - 0.5)).toBe(bucket);
      if (bucket > 2) expect(leastOf(bucket + 1) / leastOf(bucket)).toBeLessThanOrEqual(1.5);
    }
    expect(bucketOf(Number.MAX_SAFE_INTEGER)).toBe(BUCKETS - 1);
  });

  it('give quantiles that are off by less than a quarter', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 4, max: 100_000_000 }), { minLength: 1 }),
        fc.constantFrom(0.5, 0.95, 0.99),
        (durations, share) => {
          const counts = new Uint32Array(BUCKETS);
          for (const ms of durations) counts[bucketOf(ms)] = (counts[bucketOf(ms)] as number) + 1;
          const sorted = durations.toSorted((a, b) => a - b);
          const exact = sorted[Math.ceil(share * sorted.length) - 1] as number;
          const found = quantileOf(counts, share) as number;
          // Of few durations in one bucket, the true one may be at either end.
          expect(found / exact).toBeGreaterThan(1 / 1.5);
          expect(found / exact).toBeLessThan(1.5 + 1e-9);
        },
      ),
    );
  });

  it('know no quantile of nothing', () => {
    expect(quantileOf(new Uint32Array(BUCKETS), 0.5)).toBeNull();
  });
});

describe('the per-minute aggregate', () => {
  it('counts by name and minute', () => {
    const aggregate = createMinuteAggregate(MIB);
    aggregate.count('succeeded', 'a', at(0) + 59_999, Number.NaN, at(5));
    aggregate.count('succeeded', 'a', at(1), Number.NaN, at(5));
    aggregate.count('failed', 'a', at(1), Number.NaN, at(5));
    aggregate.count('failed', 'b', at(1), Number.NaN, at(5));
    expect(aggregate.names()).toEqual(['a', 'b']);
    expect(aggregate.counts('a', at(0), at(2))).toMatchObject({ succeeded: 2, failed: 1, retried: 0 });
    expect(aggregate.counts('a', at(1), at(2))).toMatchObject({ succeeded: 1, failed: 1 });
    expect(aggregate.counts('b', at(0), at(1))).toMatchObject({ failed: 0 });
    expect(aggregate.counts('c', at(0), at(9))).toMatchObject({ failed: 0 });
  });

  it('counts what is ahead of time as now, and nothing older than a day', () => {
    const aggregate = createMinuteAggregate(MIB);
    aggregate.count('failed', 'a', at(3), Number.NaN, at(0));
    expect(aggregate.counts('a', at(0), at(1)).failed).toBe(1);
    aggregate.count('failed', 'a', at(-1_440), Number.NaN, at(0));
    aggregate.count('failed', 'a', Number.NaN, Number.NaN, at(0));
    expect(aggregate.counts('a', at(-2_000), at(5)).failed).toBe(1);
    aggregate.count('failed', 'a', at(1_440), Number.NaN, at(1_440));
    expect(aggregate.counts('a', at(-2_000), at(2_000)).failed).toBe(1);
    expect(aggregate.since).toBe(at(1));
  });

  it('starts again when the clock was set back by more than a day', () => {
    const aggregate = createMinuteAggregate(MIB);
    aggregate.count('failed', 'a', at(10_000), Number.NaN, at(10_000));
    aggregate.count('failed', 'b', at(0), Number.NaN, at(0));
    expect(aggregate.names()).toEqual(['b']);
  });

  it('forgets names without counts, and counts names beyond a thousand together', () => {
    const aggregate = createMinuteAggregate(4 * MIB);
    for (let name = 0; name < 1_500; name++) aggregate.count('failed', `n${name}`, at(0), Number.NaN, at(0));
    expect(aggregate.names()).toHaveLength(1_000);
    expect(aggregate.counts(aggregate.others, at(0), at(1)).failed).toBe(501);
    aggregate.count('failed', 'new', at(1_440), Number.NaN, at(1_440));
    expect(aggregate.names()).toEqual(['new']);
    expect(aggregate.counts('new', at(0), at(2_000)).failed).toBe(1);
  });

  it('drops its oldest minutes when its memory is full', () => {
    const aggregate = createMinuteAggregate(MIB);
    for (let minute = 0; minute < 1_000; minute++) {
      for (const name of ['a', 'b', 'c'])
        aggregate.count('started', name, at(minute), Number.NaN, at(minute));
    }
    expect(aggregate.bytes()).toBeLessThanOrEqual(MIB + 1_000);
    expect(aggregate.since).toBeGreaterThan(at(100));
    const kept = (at(1_000) - aggregate.since) / MINUTE;
    expect(aggregate.counts('b', at(0), at(1_000)).started).toBe(kept);
  });

  it('is the sum of what was counted, in whatever order', () => {
    const events = fc.array(
      fc.record({ name: fc.constantFrom('a', 'b', 'c'), minute: fc.integer({ min: 0, max: 30 }) }),
    );
    fc.assert(
      fc.property(events, (list) => {
        const aggregate = createMinuteAggregate(MIB);
        for (const { name, minute } of list)
          aggregate.count('received', name, at(minute), Number.NaN, at(30));
        for (const name of ['a', 'b', 'c']) {
          const own = list.filter((event) => event.name === name && event.minute >= 10);
          expect(aggregate.counts(name, at(10), at(31)).received).toBe(own.length);
        }
      }),
    );
  });
});

/** A history's state with these messages recorded; its aggregate is not part of the interface of a history. */
function aggregateOf(changes: readonly TaskChange[]) {
  const state = createMemoryState({ now: () => at(10) });
  const writer = createMemoryWriter(state, createRecorder({ ...state, packOldest: () => {} }));
  for (const change of changes) writer.recordTask(change);
  return state.aggregate;
}

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

  it('each event once, retries when they happen', () => {
    const aggregate = aggregateOf([...run, ...run]);
    expect(aggregate.counts('pay', at(0), at(9))).toEqual({
      ...{ sent: 1, received: 2, started: 2, succeeded: 0, failed: 1, retried: 1, revoked: 0, rejected: 0 },
    });
    expect(aggregate.counts('pay', at(3), at(4)).retried).toBe(1);
  });

  it('waits from the later of sent and eta, for each attempt, and runs of what failed', () => {
    const aggregate = aggregateOf(run);
    const near = (ms: number) => [ms / 1.5, ms * 1.5] as const;
    for (const [kind, from, to, expected] of [
      ['wait', at(2), at(3), 2 * MINUTE],
      ['wait', at(6), at(7), MINUTE],
      ['run', at(8), at(9), 2 * MINUTE],
    ] as const) {
      const found = aggregate.quantile(kind, 'pay', from, to, 0.5) ?? 0;
      expect(found).toBeGreaterThan(near(expected)[0]);
      expect(found).toBeLessThan(near(expected)[1]);
    }
  });

  it('what worker and backend both report once, whichever comes first', () => {
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
      const aggregate = aggregateOf([start, first, second]);
      expect(aggregate.counts('pay', at(0), at(9)).succeeded).toBe(1);
    }
  });

  it('of what was stored only ends with a time', () => {
    const stored = { stored: true, origin: 'result', name: 'pay' } as const;
    const aggregate = aggregateOf([
      told({ id: '1', type: 'started', time: null, heardAt: at(1), ...stored }),
      told({ id: '2', type: 'succeeded', time: at(2), ...stored }),
      told({ id: '3', type: 'succeeded', time: null, ...stored }),
    ]);
    expect(aggregate.counts('pay', at(0), at(11))).toMatchObject({ started: 0, succeeded: 1 });
  });
});
