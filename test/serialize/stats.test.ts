import { expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import type { TaskStats } from '../../src/source.ts';

const { stats } = createSerializer({ redactor: createRedactor() });

const figures: TaskStats = {
  stepSeconds: 60,
  series: [{ t: new Date(0), received: 1, succeeded: 2, failed: 3, retried: 4 }],
  states: { SUCCESS: 5, ['__proto__']: 6 },
  names: [
    {
      name: 'a',
      count: 1,
      failed: 0,
      lastFailedAt: new Date(0),
      runtimeP50: 0.5,
      runtimeP95: null,
      waitP50: 0,
      waitP95: Number.NaN,
    },
  ],
  workers: ['w'],
  queues: ['q'],
};

const PERCENTILES = {
  ...{ runtimeP50: 1, runtimeP95: 2, runtimeP99: 3 },
  ...{ waitP50: null, waitP95: 0, waitP99: Number.NaN },
};
const UNKNOWN = {
  ...{ runtime_p50: null, runtime_p95: null, runtime_p99: null },
  ...{ wait_p50: null, wait_p95: null, wait_p99: null },
};

it('has every figure', () => {
  const body = stats(figures);
  expect(body).toMatchObject({
    step_seconds: 60,
    series: [{ t: '1970-01-01T00:00:00.000Z', received: 1, succeeded: 2, failed: 3, retried: 4 }],
    names: [
      {
        name: 'a',
        count: 1,
        failed: 0,
        last_failed_at: '1970-01-01T00:00:00.000Z',
        runtime_p50: 0.5,
        runtime_p95: null,
        wait_p50: 0,
        wait_p95: null,
      },
    ],
    workers: ['w'],
    queues: ['q'],
  });
  expect(JSON.stringify(body?.states)).toBe('{"SUCCESS":5,"__proto__":6}');
});

it('has totals: those of the source, or those of the last steps in which all is known', () => {
  const counts = { received: 1, succeeded: 2, failed: 3, retried: 4 };
  const first = '1970-01-01T00:00:00.000Z';
  expect(stats(figures)?.totals).toEqual({ since: first, ...counts, ...UNKNOWN });
  const unknown = { t: new Date(60_000), received: null, succeeded: 5, failed: null, retried: null };
  expect(stats({ ...figures, series: [...figures.series, unknown] })?.totals).toMatchObject({
    ...{ since: null, received: null, succeeded: null, failed: null, retried: null },
  });
  expect(stats({ ...figures, series: [unknown] })?.totals).toMatchObject({
    ...{ since: '1970-01-01T00:01:00.000Z', received: null, succeeded: 5, failed: null },
  });
  const totals = { ...counts, received: 9, ...PERCENTILES };
  expect(stats({ ...figures, totals })?.totals).toEqual({
    ...{ since: first, ...counts, received: 9 },
    ...{ runtime_p50: 1, runtime_p95: 2, runtime_p99: 3, wait_p50: null, wait_p95: 0, wait_p99: null },
  });
});

it('has percentiles of steps and histograms where they are asked for', () => {
  const [step] = figures.series as [TaskStats['series'][number]];
  const hostile = [{ le: 0.5, count: 1 }, { le: null, count: 2 }, { le: 1, count: 'x' }, null];
  const given = {
    ...figures,
    series: [{ ...step, ...PERCENTILES }],
    runtimeHistogram: hostile as TaskStats['runtimeHistogram'] & object,
  };
  expect(Object.keys(stats(given) ?? {})).not.toContain('runtime_histogram');
  expect(stats(given)?.series[0]).not.toHaveProperty('runtime_p50');
  const body = stats(given, { percentiles: true });
  expect(body?.series[0]).toMatchObject({ received: 1, runtime_p95: 2, wait_p95: 0, wait_p99: null });
  expect(body).toMatchObject({
    runtime_histogram: [
      { le: 0.5, count: 1 },
      { le: null, count: 2 },
    ],
    wait_histogram: [],
  });
  expect(stats(figures, { percentiles: true })?.series[0]).toMatchObject(UNKNOWN);
});

it('says from what the figures are where there is a store, and nothing of it elsewhere', () => {
  expect(Object.keys(stats(figures) ?? {})).not.toContain('computed_from');
  const kept = { ...figures, computedFrom: 'tasks', countedSince: new Date(0) } as const;
  const more = (body: object | null) => {
    const { computed_from, counted_since, queue_depths } = body as Record<string, unknown>;
    return { computed_from, counted_since, queue_depths };
  };
  expect(more(stats(kept))).toEqual({ computed_from: 'tasks', counted_since: '1970-01-01T00:00:00.000Z' });
  const depths = { queue: 'q', waiting: [1, null], oldestSeconds: [Number.NaN, 2] };
  const hostile = [depths, { queue: 'r' }, null] as unknown as (typeof depths)[];
  const counted = { ...kept, computedFrom: 'rollups', countedSince: null, queueDepths: hostile } as const;
  expect(more(stats(counted))).toEqual({
    computed_from: 'rollups',
    counted_since: null,
    queue_depths: [
      {
        ...{ queue: 'q', waiting: [1, null], oldest_seconds: [null, 2], oldest_at_least: false },
        ...{ sent: [null, null], received: [null, null], growing_since: null },
      },
    ],
  });
  const [growing] =
    stats({
      ...figures,
      queueDepths: [
        { ...depths, sent: [1, 2], received: [0, null], growingSince: new Date(0), oldestAtLeast: true },
      ],
    })?.queue_depths ?? [];
  expect(growing).toMatchObject({
    ...{ sent: [1, 2], received: [0, null] },
    ...{ growing_since: '1970-01-01T00:00:00.000Z', oldest_at_least: true },
  });
});

it('leaves out what cannot be read', () => {
  const hostile = {
    stepSeconds: 60,
    series: [null, { t: 'x' }, { t: new Date(0), received: '1' }],
    states: { SUCCESS: 'x', FAILURE: 1 },
    names: [{}, 7, { name: 'a' }],
    workers: 'w',
    queues: [1, 'q'],
  };
  expect(stats(hostile as unknown as TaskStats)).toEqual({
    step_seconds: 60,
    series: [{ t: '1970-01-01T00:00:00.000Z', received: null, succeeded: null, failed: null, retried: null }],
    totals: { since: null, received: null, succeeded: null, failed: null, retried: null, ...UNKNOWN },
    states: { FAILURE: 1 },
    names: [
      {
        name: 'a',
        count: null,
        failed: 0,
        last_failed_at: null,
        runtime_p50: null,
        runtime_p95: null,
        wait_p50: null,
        wait_p95: null,
      },
    ],
    workers: [],
    queues: ['q'],
  });
});

it('lists no more than was promised, whatever a source gives', () => {
  const [name] = figures.names;
  const [step] = figures.series;
  const many = {
    ...figures,
    names: Array.from({ length: 1_000 }, () => name),
    series: Array.from({ length: 100_000 }, () => step),
  };
  expect(stats(many as TaskStats)?.names).toHaveLength(50);
  expect(stats(many as TaskStats)?.series).toHaveLength(1_500);
});

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['a text', 'x'],
  ['no length of a step', { ...figures, stepSeconds: null }],
  ['a step of no length', { ...figures, stepSeconds: 0 }],
])('are none when they are %s', (_what, given) => {
  expect(stats(given as TaskStats)).toBeNull();
});

it('has callers where they are asked for, and null where the source does not know them', () => {
  const callers = [
    { name: 'order.place', count: 3 },
    { name: 7, count: 1 },
    { name: 'x', count: 1.5 },
  ];
  expect(stats(figures)).not.toHaveProperty('callers');
  expect(stats(figures, { callers: true })).toMatchObject({ callers: null, callees: null });
  expect(stats({ ...figures, callers, callees: [] } as never, { callers: true })).toMatchObject({
    callers: [{ name: 'order.place', count: 3 }],
    callees: [],
  });
});
