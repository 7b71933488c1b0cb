/** Cases on `getActivity` of the part `tasks`. */
import type { TaskCounts } from '../source.ts';
import type { Checks } from './checks.ts';
import {
  anything,
  boolean,
  count,
  fail,
  filled,
  id,
  listOf,
  maybe,
  nullable,
  number,
  optional,
  record,
  text,
} from './shape.ts';

const MINUTE_MS = 60_000;
const NO_ACTIVITY = 'The source has no getActivity.';

const GROUP = {
  count,
  since: nullable(number),
  states: listOf(filled),
  examples: listOf(id),
};

const ACTIVITY = record({
  since: number,
  blind: nullable(text),
  counts: anything,
  open: record({
    running: listOf(
      record({
        id,
        name: nullable(text),
        worker: nullable(text),
        startedAt: number,
        state: optional(filled),
        queue: maybe(text),
      }),
    ),
    isWhole: boolean,
    lost: listOf(
      record({
        ...GROUP,
        worker: nullable(filled),
        isWorkerOnline: boolean,
        isTakenOver: optional(boolean),
      }),
    ),
    overdue: nullable(record(GROUP)),
    missing: maybe(record(GROUP)),
    waiting: listOf(record({ ...GROUP, queue: filled })),
  }),
  workersPull: optional(boolean),
  silent: listOf(record({ hostname: filled, heardAt: number })),
  growing: optional(listOf(record({ queue: filled, since: number, from: count, waiting: count }))),
});

const COUNTS = record({
  sent: count,
  received: count,
  started: count,
  succeeded: count,
  failed: count,
  retried: count,
  revoked: count,
  rejected: count,
});

/** Cases on the data that rules judge. They are skipped for a source without `getActivity`. */
export const ACTIVITY_CHECKS: Checks = {
  'reports what happens, and the tasks that have not ended, longest running first': async (bench) => {
    const activity = await bench.read('getActivity', (context) =>
      bench.sources.tasks?.getActivity?.(context),
    );
    if (activity === undefined) return bench.skip(NO_ACTIVITY);
    ACTIVITY(activity, 'getActivity');
    const starts = activity.open.running.map(({ startedAt }) => startedAt);
    if (starts.some((start, index) => start < (starts[index - 1] ?? start))) {
      fail('getActivity().open.running', 'the task that started first at first', starts);
    }
  },

  'counts by minute, so that two spans add up to one': async (bench) => {
    const activity = await bench.read('getActivity', (context) =>
      bench.sources.tasks?.getActivity?.(context),
    );
    if (activity === undefined) return bench.skip(NO_ACTIVITY);
    const { counts } = activity;
    const names = counts.names().slice(0, 20);
    if (names.length === 0) bench.skip('The source has counted nothing yet.');
    const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const [from, middle, to] = [now - 60 * MINUTE_MS, now - 20 * MINUTE_MS, now + MINUTE_MS];
    for (const name of names) {
      const path = `getActivity().counts.counts(${JSON.stringify(name)})`;
      const whole = counts.counts(name, from, to);
      COUNTS(whole, path);
      const parts = [counts.counts(name, from, middle), counts.counts(name, middle, to)];
      for (const outcome of Object.keys(whole) as (keyof TaskCounts)[]) {
        const sum = parts.reduce((total, part) => total + part[outcome], 0);
        if (sum !== whole[outcome]) fail(`${path}.${outcome}`, `the ${sum} of both halves`, whole[outcome]);
      }
      const median = counts.quantile('run', name, from, to, 0.5);
      nullable(number)(median, `getActivity().counts.quantile(${JSON.stringify(name)})`);
    }
  },
};
