/** Cases on the parts that return one list or one value: workers, schedules, components, health, history. */
import type { Component, Queue, Schedule, Worker } from '../model.ts';
import type { Activity, Awaitable, ReadContext, TaskCounts } from '../source.ts';
import type { Bench, Checks } from './bench.ts';
import { expectUnique } from './listing.ts';
import { fail, listOf, type Shape } from './shape.ts';
import { SHAPES } from './shapes.ts';

async function get<T>(
  bench: Bench,
  what: string,
  call: (context: ReadContext) => Awaitable<T> | undefined,
): Promise<T> {
  const value = await bench.read(what, async (context) => await call(context));
  if (value === undefined) fail(what, 'an answer', value);
  return value;
}

/** Reads a list. Fails unless all its items have the shape, and a key of their own. */
async function listed<Item>(
  bench: Bench,
  what: string,
  call: (context: ReadContext) => Awaitable<readonly Item[]> | undefined,
  item: Shape,
  key: keyof Item & string,
): Promise<readonly Item[]> {
  const items = await get(bench, what, call);
  listOf(item)(items, what);
  expectUnique(
    `${key} of ${what}`,
    items.map((one) => String(one[key])),
  );
  return items;
}

/** Cases on `workers`. */
export const WORKER_CHECKS: Checks = {
  'lists each worker once, by hostname': async (bench) => {
    const read = (context: ReadContext) => bench.sources.workers?.listWorkers(context);
    await listed<Worker>(bench, 'listWorkers', read, SHAPES.worker, 'hostname');
  },
};

/** Cases on `schedules`. */
export const SCHEDULE_CHECKS: Checks = {
  'lists each schedule once, by id, or reports that there is no beat': async (bench) => {
    const read = async (context: ReadContext) =>
      (await get(bench, 'listSchedules', () => bench.sources.schedules?.listSchedules(context))) ?? [];
    await listed<Schedule>(bench, 'listSchedules', read, SHAPES.schedule, 'id');
  },
};

/** Cases on `queues`. */
export const QUEUE_CHECKS: Checks = {
  'lists each queue once, by name': async (bench) => {
    const read = (context: ReadContext) => bench.sources.queues?.listQueues(context);
    await listed<Queue>(bench, 'listQueues', read, SHAPES.queue, 'name');
  },
};

/** Cases on `components`. */
export const COMPONENT_CHECKS: Checks = {
  'lists each component once, by key, with plain data as settings': async (bench) => {
    const read = (context: ReadContext) => bench.sources.components?.listComponents(context);
    const components = await listed<Component>(bench, 'listComponents', read, SHAPES.component, 'key');
    for (const { key, config } of components) {
      try {
        JSON.stringify(config);
      } catch {
        fail(`config of the component ${key}`, 'what JSON can hold', config);
      }
    }
  },
};

/** Cases on `health`. */
export const HEALTH_CHECKS: Checks = {
  'answers each of its checks and says why one failed': async (bench) => {
    const { health } = bench.sources;
    for (const name of ['checkBroker', 'checkBackend'] as const) {
      if (!health?.[name]) continue;
      const check = await get(bench, name, (context) => health[name]?.(context));
      SHAPES.healthCheck(check, name);
      if (check.ok === false && !check.error)
        fail(`${name}().error of a check that failed`, 'a reason', check.error);
    }
    if (health?.checkWorkers) {
      const check = await get(bench, 'checkWorkers', (context) =>
        health.checkWorkers?.({ ...context, ping: false }),
      );
      SHAPES.workerHealthCheck(check, 'checkWorkers');
      expectUnique('hostnames of checkWorkers', [...check.responding, ...check.missing]);
      if (check.ok === true && check.responding.length === 0) {
        fail('checkWorkers().ok with no worker that responds', 'false or null', check.ok);
      }
    }
  },
};

/** Cases on `history`. */
export const HISTORY_CHECKS: Checks = {
  'reports how much it holds': async (bench) => {
    const stats = await get(bench, 'getHistoryStats', (context) =>
      bench.sources.history?.getHistoryStats(context),
    );
    SHAPES.historyStats(stats, 'getHistoryStats');
    if (bench.seeded && stats.tasks < bench.seeded.length) {
      fail('getHistoryStats().tasks', `at least the ${bench.seeded.length} put in`, stats.tasks);
    }
  },
};

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
