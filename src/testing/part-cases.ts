/**
 * Cases on the parts besides tasks: workers, schedules, queues, components, health, history, and the event feed.
 */
import { isMonitorError } from '../errors.ts';
import type { Component, Queue, Schedule, TaskEvent, Worker } from '../model.ts';
import type {
  Activity,
  Awaitable,
  ReadContext,
  TaskCounts,
  TaskEventPage,
  TaskEventQuery,
} from '../source.ts';
import { type Bench, type Checks, NO_SEED } from './bench.ts';
import { expectIds, expectUnique, idsOf } from './listing.ts';
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

const START = new Date(0);
const MOST_ITEMS = 1_000;
const TOO_MANY = 'The feed has more items than one page can hold.';

async function feed(bench: Bench, part: Partial<TaskEventQuery> = {}): Promise<TaskEventPage> {
  const query = Object.freeze({
    limit: MOST_ITEMS,
    since: null,
    states: [],
    workers: [],
    tasks: [],
    ...part,
  });
  const page = await bench.read('listEvents', (context) => bench.sources.events?.listEvents(query, context));
  if (!page) fail('listEvents', 'a page', page);
  SHAPES.taskEventPage(page, 'listEvents');
  if (page.events.length > query.limit) {
    fail('listEvents().events.length', `at most the limit of ${query.limit}`, page.events.length);
  }
  return page;
}

/** The newest items, newest first. Fails when there are none. */
async function newest(bench: Bench): Promise<readonly TaskEvent[]> {
  const { events } = await feed(bench);
  if (events.length === 0) fail('listEvents', 'at least one item', events);
  return events;
}

/** Items after `since`, oldest first, read in pages of `limit`. */
async function follow(
  bench: Bench,
  since: TaskEventQuery['since'],
  limit: number,
): Promise<readonly TaskEvent[]> {
  const items: TaskEvent[] = [];
  let position = since;
  for (;;) {
    const { events, cursor } = await feed(bench, { since: position, limit });
    items.push(...events.toReversed());
    if (events.length === 0 || items.length > 20_000) return items;
    position = { cursor };
  }
}

async function expectFiltered(
  bench: Bench,
  what: string,
  filter: Partial<TaskEventQuery>,
  holds: (event: TaskEvent) => boolean,
): Promise<void> {
  const all = await newest(bench);
  const { events } = await feed(bench, filter);
  const foreign = events.filter((event) => !holds(event));
  if (foreign.length > 0) fail(what, 'only matching items', foreign);
  // At the limit a filtered page reaches further back than an unfiltered one, so the two are not comparable.
  if (all.length < MOST_ITEMS) expectIds(what, idsOf(events), idsOf(all.filter(holds)));
}

/** Cases on `events`. */
export const EVENT_CHECKS: Checks = {
  'lists each item once, with an id': async (bench) => {
    expectUnique('ids of listEvents', idsOf(await newest(bench)));
  },

  'reports every seeded task': async (bench) => {
    if (!bench.seeded) return bench.skip(NO_SEED);
    const listed = new Set((await newest(bench)).map((event) => event.taskId));
    const missing = bench.seeded.filter((task) => !listed.has(task.id));
    if (missing.length > 0) fail('listEvents', `an event of ${missing[0]?.id}`, idsOf(missing));
  },

  'lists the newest items, newest first, without since': async (bench) => {
    const all = await newest(bench);
    const { events } = await feed(bench, { limit: 3 });
    expectIds('listEvents with limit 3', idsOf(events), idsOf(all.slice(0, 3)));
  },

  'continues after a cursor with the oldest items, without duplicates or omissions': async (bench) => {
    const all = await newest(bench);
    if (all.length >= MOST_ITEMS) bench.skip(TOO_MANY);
    const inOrder = idsOf(all.toReversed());
    for (const limit of [1, 7, 1000]) {
      const items = await follow(bench, { time: START }, limit);
      expectIds(`listEvents from the start by ${limit}`, idsOf(items), inOrder);
    }
  },

  'returns nothing after its newest item, and the same cursor': async (bench) => {
    const { cursor } = await feed(bench);
    const { events, cursor: next, gap } = await feed(bench, { since: { cursor } });
    if (events.length > 0) fail('listEvents since its own cursor', 'nothing', events);
    if (next !== cursor) fail('listEvents().cursor with nothing new', cursor, next);
    if (gap) fail('listEvents().gap with nothing new', 'false', gap);
  },

  'lists items that arrived after a cursor': async (bench) => {
    const all = await newest(bench);
    const { cursor } = await feed(bench, { limit: 1, since: { time: START } });
    const { events } = await feed(bench, { since: { cursor } });
    if (all.length >= MOST_ITEMS) bench.skip(TOO_MANY);
    expectIds('listEvents since the oldest', idsOf(events), idsOf(all.slice(0, -1)));
  },

  'returns nothing after a time in the future': async (bench) => {
    const time = new Date(Date.now() + 3_600_000);
    const { events } = await feed(bench, { since: { time } });
    if (events.length > 0) fail(`listEvents since ${time.toISOString()}`, 'nothing', events);
  },

  'returns every item after a time before all of them': async (bench) => {
    if (!bench.seeded) return bench.skip(NO_SEED);
    const all = await newest(bench);
    const { events } = await feed(bench, { since: { time: bench.openedAt } });
    expectIds('listEvents since before the seed', idsOf(events), idsOf(all));
  },

  'filters by any of several states, workers and task names': async (bench) => {
    const all = await newest(bench);
    const fields = { states: 'state', workers: 'worker', tasks: 'task' } as const;
    for (const [filter, field] of Object.entries(fields)) {
      const values = [
        ...new Set(all.map((event) => event[field]).filter((value) => typeof value === 'string')),
      ];
      for (const wanted of [...values.slice(0, 4).map((value) => [value]), values.slice(0, 2), ['no-such']]) {
        if (wanted.length === 0) continue;
        const what = `listEvents with ${filter} ${wanted.join(', ')}`;
        await expectFiltered(bench, what, { [filter]: wanted }, (event) =>
          wanted.includes(event[field] ?? ''),
        );
      }
    }
  },

  'reports a gap or refuses for an unknown cursor': async (bench) => {
    for (const cursor of ['no-such-cursor', '-1', '__proto__', '%00', 'x'.repeat(2000)]) {
      try {
        const { gap } = await feed(bench, { since: { cursor } });
        if (!gap) fail(`listEvents().gap for the cursor ${cursor.slice(0, 20)}`, 'true', gap);
      } catch (error) {
        if (!isMonitorError(error) || error.code !== 'invalid_parameter') throw error;
      }
    }
  },
};
