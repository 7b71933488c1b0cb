/** Cases on `getActivity` of the part `experimental`. */
import type { Activity, TaskCounts } from '../source.ts';
import type { Bench, Checks } from './bench.ts';
import { fail } from './shape.ts';
import { SHAPES } from './shapes.ts';

const MINUTE_MS = 60_000;

async function activityOf(bench: Bench): Promise<Activity> {
  const activity = await bench.read('getActivity', (context) =>
    bench.sources.experimental?.getActivity?.(context),
  );
  if (activity === undefined) return bench.skip('The source has no getActivity.');
  SHAPES.activity(activity, 'getActivity');
  return activity;
}

/** Cases on the data that rules judge. They are skipped for a source without `getActivity`. */
export const ACTIVITY_CHECKS: Checks = {
  'reports what happens, and the tasks that have not ended, longest running first': async (bench) => {
    const activity = await activityOf(bench);
    const starts = activity.open.running.map(({ startedAt }) => startedAt);
    if (starts.some((start, index) => start < (starts[index - 1] ?? start))) {
      fail('getActivity().open.running', 'the task that started first at first', starts);
    }
  },

  'counts by minute, so that two spans add up to one': async (bench) => {
    const activity = await activityOf(bench);
    const { counts } = activity;
    const names = counts.names().slice(0, 20);
    if (names.length === 0) bench.skip('The source has counted nothing yet.');
    const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const [from, middle, to] = [now - 60 * MINUTE_MS, now - 20 * MINUTE_MS, now + MINUTE_MS];
    for (const name of names) {
      const path = `getActivity().counts.counts(${JSON.stringify(name)})`;
      const whole = counts.counts(name, from, to);
      SHAPES.taskCounts(whole, path);
      const parts = [counts.counts(name, from, middle), counts.counts(name, middle, to)];
      for (const outcome of Object.keys(whole) as (keyof TaskCounts)[]) {
        const sum = parts.reduce((total, part) => total + part[outcome], 0);
        if (sum !== whole[outcome]) fail(`${path}.${outcome}`, `the ${sum} of both halves`, whole[outcome]);
      }
      const median = counts.quantile('run', name, from, to, 0.5);
      SHAPES.figure(median, `getActivity().counts.quantile(${JSON.stringify(name)})`);
    }
  },
};
