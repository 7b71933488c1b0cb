/**
 * Forecasts of when a queue is empty: of how many the real time lay in the stated band, on simulated load with a fixed
 * seed. Not a ratio of speeds: the goal is that the band holds for 80 % of them.
 */

import { createDrainTrack, drainOf, observeDepth } from '../src/answers/queue-answers.ts';
import { randomOf } from '../test/helpers/celery-recordings.ts';
import { printTable } from './table.ts';

const HOURS = 24;
const EVERY_MS = 5_000;
const RUN_SECONDS = 2;
const GOAL = 0.8;

/** Tasks that arrive per second, slots, and tasks that arrive at once, by the second since the start. */
interface Load {
  readonly arrivals: (second: number) => number;
  readonly slots: (second: number) => number;
  readonly atOnce?: (second: number, random: () => number) => number;
}

const CYCLE = 1_800;
const LOADS: Readonly<Record<string, Load>> = {
  steady: { arrivals: () => 1.8, slots: () => 4 },
  burst: {
    arrivals: () => 1,
    slots: () => 4,
    atOnce: (second, random) => (second % 900 === 60 ? 200 + Math.floor(random() * 400) : 0),
  },
  'growing, then drained': {
    arrivals: (second) => (second % CYCLE < 600 ? 3 : 1),
    slots: () => 4,
  },
  'slots doubled': {
    arrivals: () => 1,
    slots: (second) => (second % CYCLE < 300 ? 4 : 8),
    atOnce: (second) => (second % CYCLE === 10 ? 1_200 : 0),
  },
};

interface Forecast {
  readonly at: number;
  readonly low: number;
  readonly high: number;
}

/** The share of forecasts whose band held, and how wide the bands were. */
function simulate({ arrivals, slots, atOnce }: Load, random: () => number) {
  const track = createDrainTrack();
  const running: number[] = [];
  const taken: number[] = [];
  let waiting = 0;
  let open: Forecast[] = [];
  const tested: (Forecast & { readonly held: boolean })[] = [];
  const spread = (mean: number): number => -Math.log(1 - random()) * mean;
  const step = 0.1;
  for (let tick = 0; tick < (HOURS * 3_600) / step; tick += 1) {
    const second = tick * step;
    if (random() < arrivals(second) * step) waiting += 1;
    if (tick % 10 === 0) waiting += atOnce?.(Math.round(second), random) ?? 0;
    for (let index = running.length - 1; index >= 0; index -= 1) {
      if ((running[index] as number) <= second) running.splice(index, 1);
    }
    while (waiting > 0 && running.length < slots(second)) {
      waiting -= 1;
      running.push(second + spread(RUN_SECONDS));
      taken.push(second);
    }
    if (tick % (EVERY_MS / 1_000 / step) !== 0) continue;
    while ((taken[0] ?? second) < second - 240) taken.shift();
    observeDepth(track, { at: second * 1_000, waiting });
    if (waiting === 0) {
      tested.push(...open.map((one) => ({ ...one, held: within(one, second) })));
      open = [];
    }
    const pace = taken.length / Math.min(240, Math.max(1, second));
    const drain = drainOf(track, { pace, slots: slots(second), runSeconds: RUN_SECONDS });
    if (drain === null || drain.low === null || drain.high === null) continue;
    open.push({ at: second, low: drain.low, high: drain.high });
  }
  const widths = tested.map(({ low, high }) => high / Math.max(low, 0.1)).sort((a, b) => a - b);
  const held = tested.filter((one) => one.held).length;
  return { held, forecasts: tested.length, width: widths[Math.floor(widths.length / 2)] ?? 0 };
}

/** The queue was empty at some time since the reading before. */
function within({ at, low, high }: Forecast, second: number): boolean {
  return second - at >= low && second - EVERY_MS / 1_000 - at <= high;
}

const results = Object.entries(LOADS).map(([name, load]) => ({ name, ...simulate(load, randomOf(7)) }));
printTable(
  `Forecasts of ${HOURS} simulated hours whose band held (goal: ${100 * GOAL} %)`,
  ['load', 'held, %', 'forecasts', 'high / low, median'],
  results.map(({ name, held, forecasts, width }) => [
    name,
    ((100 * held) / forecasts).toFixed(1),
    String(forecasts),
    width.toFixed(1),
  ]),
);
process.exitCode = results.every(({ held, forecasts }) => held / forecasts >= GOAL) ? 0 : 1;
