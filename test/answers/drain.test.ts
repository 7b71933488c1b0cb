import { describe, expect, it } from 'vitest';
import { createDrainTrack, drainOf, observeDepth } from '../../src/answers/queue-answers.ts';

const START = Date.UTC(2026, 10, 21, 12);
const UNKNOWN: Parameters<typeof drainOf>[1] = { pace: null, slots: null, runSeconds: null };

/** The forecast after readings every five seconds. */
function forecast(depths: readonly number[], crew = UNKNOWN, track = createDrainTrack()) {
  for (const [index, waiting] of depths.entries())
    observeDepth(track, { at: START + index * 5_000, waiting });
  return drainOf(track, crew);
}

const from = (first: number, step: number, count = 25): number[] =>
  Array.from({ length: count }, (_, index) => first + index * step);

describe('when a queue will be empty', () => {
  it('follows from how its depth changes, within a wide band at first', () => {
    const drain = forecast(from(340, -10));
    expect(drain).toMatchObject({ seconds: 50, per_minute: -120, based_on_seconds: 120, reason: null });
    expect(drain?.low).toBeLessThan(25);
    expect(drain?.high).toBeGreaterThan(125);
  });

  it('is nothing for an empty queue', () => {
    expect(forecast([3, 2, 0])).toBeNull();
    expect(forecast([])).toBeNull();
  });

  it('is never if it grows, and unknown if it neither grows nor shrinks', () => {
    expect(forecast(from(20, 5))).toMatchObject({
      seconds: null,
      low: null,
      reason: 'grows',
      per_minute: 60,
    });
    expect(forecast(Array.from({ length: 25 }, (_, index) => 20 + (index % 2)))).toMatchObject({
      seconds: null,
      reason: 'It neither grows nor shrinks measurably.',
    });
  });

  it('needs readings, of which those of the minutes before count', () => {
    expect(forecast([30, 28, 26])).toMatchObject({
      seconds: null,
      reason: expect.stringContaining('needs 20 s'),
    });
    const minutes = [4, 3, 2, 1].map((ago) => ({ at: START - ago * 60_000, waiting: 20 + 30 * ago }));
    expect(forecast([20], UNKNOWN, createDrainTrack(minutes))).toMatchObject({
      seconds: 40,
      per_minute: -30,
    });
  });

  it('forgets how it was before many tasks were added at once', () => {
    const drain = forecast([...from(100, 0, 12), ...from(500, -10, 12)]);
    expect(drain).toMatchObject({ seconds: 195, per_minute: -120, reason: null });
  });

  it('begins anew after a time without readings', () => {
    const track = createDrainTrack();
    forecast(from(340, -10), UNKNOWN, track);
    observeDepth(track, { at: START + 3_600_000, waiting: 90 });
    expect(drainOf(track, UNKNOWN)).toMatchObject({ seconds: null, based_on_seconds: 0 });
  });

  it('says how many more slots empty it in ten minutes', () => {
    // Four slots take two in a second, and as many arrive.
    const even = { pace: 2, slots: 4, runSeconds: null };
    expect(forecast(from(600, 0), even)?.slots_needed).toBe(2);
    expect(forecast(from(600, -10), even)?.slots_needed).toBe(0);
    expect(forecast(from(600, 0), { ...UNKNOWN, slots: 4, runSeconds: 2 })?.slots_needed).toBe(2);
    expect(forecast(from(600, 0))?.slots_needed).toBeNull();
  });

  it('has a narrow band after forecasts that came true, and a high one after those that came late', () => {
    const drained = (step: (index: number) => number): ReturnType<typeof drainOf> => {
      const track = createDrainTrack();
      let at = START;
      for (let round = 0; round < 12; round += 1) {
        for (let waiting = 300; waiting > 0; at += 5_000) {
          observeDepth(track, { at, waiting });
          drainOf(track, UNKNOWN);
          waiting -= step(waiting);
        }
        observeDepth(track, { at, waiting: 0 });
        at += 5_000;
      }
      for (let index = 0; index < 10; index += 1, at += 5_000) {
        observeDepth(track, { at, waiting: 300 - 10 * index });
      }
      return drainOf(track, UNKNOWN);
    };
    const exact = drained(() => 10);
    expect((exact?.high ?? 0) / (exact?.low ?? 1)).toBeLessThan(1.5);
    // The last tasks take twice as long as the first.
    const late = drained((waiting) => (waiting > 150 ? 10 : 5));
    expect((late?.high ?? 0) / (late?.seconds ?? 1)).toBeGreaterThan(1.3);
  });
});
