import { describe, expect, it } from 'vitest';
import { statsWindow } from '../../src/select/stats-steps.ts';

const DAY = 1_440;
const now = new Date('2026-01-10T12:34:56Z');

describe('the steps of a window', () => {
  it('are readable, and not too many', () => {
    const steps = [1, 60, DAY, DAY + 1, 7 * DAY, 30 * DAY, 90 * DAY].map((minutes) => {
      const { stepSeconds, count } = statsWindow({ minutes, now });
      return [stepSeconds, count];
    });
    expect(steps).toEqual([
      [1, 61],
      [60, 61],
      [1_800, 49],
      [3_600, 25],
      [7_200, 85],
      [28_800, 91],
      [86_400, 91],
    ]);
  });

  it('begin at round times, and are as long as asked', () => {
    const { first, start, end, count } = statsWindow({ minutes: 10, now, stepSeconds: 300 });
    expect(new Date(first).toISOString()).toBe('2026-01-10T12:20:00.000Z');
    expect([new Date(start).toISOString(), end - start, count]).toEqual([
      '2026-01-10T12:24:56.000Z',
      600_000,
      3,
    ]);
    expect(statsWindow({ minutes: 10, now, stepSeconds: 300 }, 3_600).stepSeconds).toBe(3_600);
  });
});
