import { describe, expect, it } from 'vitest';
import { depthsOf, growingSince, type QueueSample } from '../../src/select/queue-depths.ts';
import { statsWindow } from '../../src/select/stats-steps.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 10, 21, 6);
const at = (minute: number): number => T0 + minute * MINUTE;

function sample(minute: number, more: Partial<QueueSample>): QueueSample {
  const waiting = more.lastWaiting ?? null;
  return {
    ...{
      queue: 'mail',
      at: at(minute),
      mostWaiting: waiting,
      lastWaiting: waiting,
      age: null,
      isAtLeast: false,
    },
    ...{ sent: 0, received: 0, started: 0 },
    ...more,
  };
}

function depths(samples: readonly QueueSample[], minutes = 4) {
  const now = new Date(at(minutes) - 1);
  const steps = depthsOf(samples, statsWindow({ minutes, now, stepSeconds: 60 }));
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

describe('the depths of queues', () => {
  it('have what was read and counted in each step, and do not know what was not', () => {
    expect(
      depths([
        sample(-1, { lastWaiting: 1 }),
        sample(0, { lastWaiting: 2, mostWaiting: 7, age: 30, sent: 5, received: 4 }),
        sample(2, { lastWaiting: 3, isAtLeast: true, age: 90 }),
        sample(3, { received: 1 }),
      ]).map(({ waiting, ...rest }) => ({ ...rest, waiting: waiting.slice(1) })),
    ).toEqual([
      {
        queue: 'mail',
        waiting: [7, null, 3, null].slice(0, 4),
        oldestSeconds: [null, 30, null, 90, null],
        sent: [null, 5, null, 0, 0],
        received: [0, 4, null, 0, 1],
        ...{ growingSince: null, oldestAtLeast: true },
      },
    ]);
  });

  it('derive what entered from what was taken out, where clients do not report it', () => {
    const [mail] = depths([
      sample(-1, { lastWaiting: 10 }),
      sample(0, { lastWaiting: 15, received: 4 }),
      sample(1, { lastWaiting: 12, received: 3 }),
      sample(2, { lastWaiting: 0, received: 2 }),
    ]);
    expect(mail).toMatchObject({ sent: [null, 9, 0, 0, null], received: [0, 4, 3, 2, null] });
  });

  it('do not know what entered before the first report, unless the depth tells', () => {
    const [mail] = depths([
      sample(-1, { started: 2 }),
      sample(0, { started: 2 }),
      sample(1, { sent: 1, started: 1 }),
      sample(2, { started: 1 }),
    ]);
    expect(mail).toMatchObject({ sent: [null, null, 1, 0, null], received: [2, 2, 1, 1, null] });
    const [read] = depths([
      sample(-1, { lastWaiting: 4, received: 1 }),
      sample(0, { lastWaiting: 6, received: 1 }),
      sample(1, { lastWaiting: 0, sent: 1, received: 7 }),
    ]);
    expect(read?.sent).toEqual([null, 3, 1, null, null]);
  });

  it('count starts where the engine reports nothing of receiving', () => {
    expect(depths([sample(1, { lastWaiting: 0, started: 6 })])[0]?.received).toEqual([
      null,
      null,
      6,
      null,
      null,
    ]);
    expect(depths([sample(1, { lastWaiting: 0, started: 6, received: 7 })])[0]?.received?.[2]).toBe(7);
  });

  it('do not know what was taken out of a queue in a step in which nobody said of which', () => {
    const samples = [
      sample(1, { lastWaiting: 0, received: 6 }),
      sample(1, { queue: null, received: 1 }),
      sample(2, { lastWaiting: 0, received: 6 }),
    ];
    expect(depths(samples)[0]?.received).toEqual([null, null, null, 6, null]);
  });

  it('are those of the 20 queues in which most waited', () => {
    const samples = Array.from({ length: 30 }, (_, n) => sample(1, { queue: `q${n}`, lastWaiting: n }));
    const found = depths(samples);
    expect([found.length, found[0]?.queue, found.at(-1)?.queue]).toEqual([20, 'q29', 'q10']);
    expect(depths(samples, 1_400)).toHaveLength(4);
  });
});

describe('a queue grows', () => {
  const points = (waiting: readonly number[]) =>
    waiting.map((depth, minute) => ({ at: at(minute), waiting: depth }));
  const since = (waiting: readonly number[], end = waiting.length - 1) => {
    const found = growingSince(points(waiting), at(end));
    return found === null ? null : (found - T0) / MINUTE;
  };

  it.each<[string, readonly number[], number | null]>([
    ['since it was last as low as before', [0, 1, 0, 2, 0, 30, 80, 120, 190, 260, 300], 4],
    ['although single readings are lower', [0, 0, 30, 60, 90, 85, 120, 115, 150, 180, 200], 1],
    ['from a depth at which it stood', [500, 500, 510, 500, 560, 620, 680, 740, 800, 900, 1000], 3],
    ['not while it falls', [300, 280, 240, 200, 150, 120, 90, 60, 30], null],
    ['not while it stands', [300, 305, 298, 300, 301, 300, 299, 300], null],
    ['not for a burst that is worked off', [0, 0, 3000, 2800, 2500, 2300, 2000, 1700, 1500], null],
    ['not for a burst of the last minutes', [0, 0, 0, 0, 0, 0, 0, 900, 3000], null],
    ['not with a few tasks', [0, 1, 3, 5, 8, 10, 13, 15, 19], null],
    ['not again after it was worked off', [0, 100, 200, 300, 0, 0, 5, 8, 3], null],
    ['never where nothing was read', [], null],
  ])('%s', (_what, waiting, expected) => {
    expect(since(waiting)).toBe(expected);
  });

  it('as far as it was read without a long pause, and lately', () => {
    const depth = [0, 40, 80, 120, 160, 200, 240, 280];
    expect(since(depth)).toBe(0);
    expect(since(depth, 12)).toBeNull();
    const paused = points(depth).map((point, index) => ({
      ...point,
      at: point.at + (index < 2 ? -60 * MINUTE : 0),
    }));
    expect(growingSince(paused, at(7))).toBe(at(2));
  });
});
