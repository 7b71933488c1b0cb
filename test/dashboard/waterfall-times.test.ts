import { describe, expect, it } from 'vitest';
import { spanOf, spanOfAll } from '../../src/dashboard/workflow/spans.ts';
import { busyTimes, ticksOf, timeScale } from '../../src/dashboard/workflow/time-scale.ts';
import { barText, factsOfTask, timesText } from '../../src/dashboard/workflow/words.ts';
import type { GraphNodeBody } from '../../src/wire.ts';
import { node } from './graph-parts.ts';

const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
describe('the times of a task', () => {
  it.each<[string, Partial<GraphNodeBody>, object]>([
    [
      'its wait before its start',
      { sent_at: at(1), started_at: at(5), finished_at: at(9), wait_ms: 3_000 },
      { sent: null, from: 2_000, started: 5_000, ended: 9_000, isOpen: false },
    ],
    [
      'no wait where none is known',
      { started_at: at(5), finished_at: at(9) },
      { from: 5_000, started: 5_000 },
    ],
    [
      'now as its end while it runs',
      { state: 'STARTED', started_at: at(5), wait_ms: 1_000 },
      { from: 4_000, ended: null, isOpen: true },
    ],
    [
      'the wait since its eta while it waits',
      { state: 'PENDING', sent_at: at(1), eta: at(8) },
      { from: 8_000, started: null, ended: null, isOpen: true },
    ],
    [
      'the time since it was sent if it was retried',
      { sent_at: at(1), started_at: at(50), finished_at: at(51), wait_ms: 1_000, retries: 2 },
      { sent: 1_000, from: 49_000 },
    ],
    [
      'nothing else while it waits for a retry',
      { state: 'RETRY', sent_at: at(1), started_at: at(2) },
      { sent: 1_000, from: null, started: null, isOpen: true },
    ],
    [
      'its run time where its start is unknown',
      { finished_at: at(9), duration_ms: 2_000, sent_at: at(1) },
      { started: 7_000, ended: 9_000 },
    ],
    [
      'its run time where clocks differ',
      { started_at: at(9), finished_at: at(8), duration_ms: 500 },
      { started: 9_000, ended: 9_500 },
    ],
    [
      'no end where nobody saw it',
      { state: 'STARTED', started_at: at(5), flags: ['end_unseen'] },
      { started: 5_000, ended: 5_000, isOpen: false },
    ],
    ['nothing where it is only a reference', { state: null, sent_at: at(1) }, { from: null, isOpen: false }],
  ])('have %s', (_what, fields, span) => {
    expect(spanOf(node('a', 'a', fields))).toMatchObject(span);
  });

  it('of several reach from the first that waits to the last that ends', () => {
    const spans = [
      spanOf(node('a', 'a', { started_at: at(5), finished_at: at(6), wait_ms: 2_000 })),
      spanOf(node('b', 'a', { started_at: at(4), finished_at: at(9), wait_ms: 500 })),
    ];
    expect(spanOfAll(spans)).toEqual({
      sent: null,
      from: 3_000,
      started: 4_000,
      ended: 9_000,
      isOpen: false,
    });
  });

  it.each<[string, Partial<GraphNodeBody>, string, string]>([
    [
      'a task that ran',
      { started_at: at(5), finished_at: at(6), wait_ms: 2_000, duration_ms: 1_000 },
      '1.0 s',
      'waited 2.0 s, ran 1.0 s',
    ],
    ['one that runs', { state: 'STARTED', started_at: at(40) }, '1 min', 'has run for 1 min'],
    ['one that waits', { state: 'PENDING', sent_at: at(90) }, 'waits 10 s', 'waited 10 s'],
    ['one that is due later', { state: 'PENDING', sent_at: at(90), eta: at(160) }, 'due in 1 min', ''],
    [
      'one that waits for a retry',
      { state: 'RETRY', sent_at: at(1), retries: 2, eta: at(130) },
      'retry 2 in 30 s',
      'after 2 retries',
    ],
    [
      'one that was revoked',
      { state: 'REVOKED', sent_at: at(1), finished_at: at(3) },
      'revoked',
      'waited 2.0 s',
    ],
  ])('are put into words for %s', (_what, fields, beside, all) => {
    const facts = factsOfTask(node('a', 'a', fields), new Set());
    expect([barText(facts, 100_000), timesText(facts, 100_000)]).toEqual([beside, all]);
  });

  it('say that a task never ran', () => {
    const facts = factsOfTask(node('a', null, { state: null }), new Set(['a']));
    expect([barText(facts, 0), facts.isFaded, facts.name]).toEqual(['never ran', true, 'a']);
  });
});

describe('the time axis', () => {
  const span = (from: number, started: number, ended: number) =>
    spanOf(
      node('a', 'a', { started_at: at(started), finished_at: at(ended), wait_ms: (started - from) * 1_000 }),
    );
  const scaleOf = (...spans: ReturnType<typeof span>[]) => {
    const scale = timeScale(busyTimes(spans, 0));
    if (scale === null) throw new Error('there is no axis');
    return scale;
  };

  it('is as long as the workflow, in even steps', () => {
    const scale = scaleOf(span(0, 1, 4), span(2, 3, 8));
    expect([scale.place(0), scale.place(2_000), scale.place(8_000)]).toEqual([0, 0.25, 1]);
    expect(scale.pauses).toEqual([]);
    expect(ticksOf(scale, 0.1).map(({ text }) => text)).toEqual(['0', '2.0 s', '4.0 s', '6.0 s', '8.0 s']);
  });

  it('shrinks a pause of more than a tenth, and keeps the order of all times', () => {
    const scale = scaleOf(span(0, 0, 10), span(550, 550, 560), span(561, 561, 570));
    expect(scale.pauses).toMatchObject([{ from: 10_000, to: 550_000, isWait: false }]);
    const places = [0, 5, 10, 100, 500, 550, 555, 560.5, 570].map((time) => scale.place(time * 1_000));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(scale.place(10_000)).toBeGreaterThan(0.25);
    expect(scale.place(550_000) - scale.place(10_000)).toBeCloseTo(0.08);
    expect(scale.place(570_000)).toBeCloseTo(1);
  });

  it('shrinks a wait only if nothing could be read beside it', () => {
    expect(scaleOf(span(0, 3, 4)).pauses).toEqual([]);
    expect(scaleOf(span(0, 1, 2), span(0, 541, 542)).pauses).toMatchObject([
      { from: 2_000, to: 541_000, isWait: true },
    ]);
  });

  it('shrinks at most six pauses, and has a place for a workflow that took no time', () => {
    const spans = range(30).map((index) => span(index * 100, index * 100, index * 100 + 1));
    expect(scaleOf(...spans).pauses.length).toBeLessThanOrEqual(6);
    expect(scaleOf(span(5, 5, 5)).place(5_000)).toBe(0);
    expect(timeScale(busyTimes([], 0))).toBeNull();
  });

  it('lasts until now while a task runs', () => {
    const running = spanOf(node('a', 'a', { state: 'STARTED', started_at: at(5) }));
    expect(timeScale(busyTimes([running], 65_000))?.to).toBe(65_000);
  });

  it('has labels that do not overlap, whatever its length', () => {
    for (const seconds of [0.001, 0.5, 7, 100, 5_000, 100_000, 3_000_000]) {
      const ticks = ticksOf(scaleOf(span(0, 0, seconds)), 0.15);
      expect(ticks.length).toBeGreaterThan(0);
      for (const [index, tick] of ticks.slice(1).entries()) {
        expect(tick.at - (ticks[index]?.at ?? 0)).toBeGreaterThanOrEqual(0.149);
      }
    }
  });
});
