import { describe, expect, it } from 'vitest';
import { summarizeTasks } from '../../src/select.ts';
import { query } from '../history/telling.ts';

const DAY = 1_440;
const now = new Date('2026-01-10T12:34:56Z');
const stepsOf = (minutes: number, stepSeconds?: number) =>
  summarizeTasks([], { minutes, now, filter: query(), ...(stepSeconds && { stepSeconds }) });

describe('the steps of a window', () => {
  it('are readable, and not too many', () => {
    const steps = [
      1,
      5,
      10,
      15,
      30,
      60,
      61,
      120,
      300,
      600,
      900,
      DAY,
      DAY + 1,
      7 * DAY,
      30 * DAY,
      90 * DAY,
    ].map((minutes) => {
      const { stepSeconds, series } = stepsOf(minutes);
      return [minutes, stepSeconds, series.length];
    });
    expect(steps).toEqual([
      [1, 1, 61],
      [5, 5, 61],
      [10, 10, 61],
      [15, 15, 61],
      [30, 30, 61],
      [60, 60, 61],
      [61, 120, 32],
      [120, 120, 61],
      [300, 300, 61],
      [600, 600, 61],
      [900, 900, 61],
      [DAY, 1_800, 49],
      [DAY + 1, 3_600, 25],
      [7 * DAY, 7_200, 85],
      [30 * DAY, 28_800, 91],
      [90 * DAY, 86_400, 91],
    ]);
  });

  it('begin at round times, and are as long as asked', () => {
    const { series, stepSeconds } = stepsOf(10, 300);
    expect(stepSeconds).toBe(300);
    expect(series.map(({ t }) => t.toISOString().slice(11, 19))).toEqual([
      '12:20:00',
      '12:25:00',
      '12:30:00',
    ]);
  });
});
