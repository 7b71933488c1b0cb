/** Rows 6 and 7: a source that returns what is not of its type, or far too much of it. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import fc from 'fast-check';
import { expect, vi } from 'vitest';
import type { TaskDetailBody, TasksBody } from '../../src/wire.ts';
import {
  COMPONENT_FIELDS,
  EVENT_FIELDS,
  SCHEDULE_FIELDS,
  TASK_FIELDS,
  WORKER_FIELDS,
} from '../helpers/any-values.ts';
import { type Host, until } from '../router/host-kit.ts';
import { HOSTILE, METHODS, sourcesWith, WRONG } from '../router/hostile-values.ts';
import { createShop, shopTask } from '../router/shop-sources.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';

const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
});

/** What each method is answered with when it returns one of the values that no method ever returns. */
function wrongStatus([part, method, path]: (typeof METHODS)[number], wrong: unknown): number {
  if (path === '/api/components/') return 200;
  // An array of what cannot be read is a list of which nothing is left.
  if (Array.isArray(wrong) && /^list(?:Workers|Schedules)$/.test(method)) return 200;
  if (wrong === undefined && /^getTask(?:Tree)?$/.test(method)) return 404;
  // What nobody can look at has not arrived.
  return wrong === HOSTILE || part === 'health' ? 503 : 502;
}

faultCase(6, 'data of the wrong type from each method is answered with 502', async (bench) => {
  for (const asked of METHODS) {
    const [part, method, path] = asked;
    const onError = vi.fn();
    let answer = (): unknown => undefined;
    const sources = sourcesWith(part, method, () => answer());
    const host = await bench.serve({ sources, onError, health: { reuseMs: 0 } });
    for (const wrong of WRONG) {
      for (const form of [() => wrong, () => Promise.resolve(wrong)]) {
        answer = form;
        const { text } = await bench.expectAnswer(host, path, { status: wrongStatus(asked, wrong) });
        expect(text).not.toContain('secret');
      }
    }
    expect(onError).toHaveBeenCalled();
  }
});

faultCase(6, 'each method of a source that returns anything', async ({ serve, expectAnswer }) => {
  for (const [part, method, path] of METHODS) {
    let returned: unknown;
    const sources = sourcesWith(part, method, () => returned);
    const host = await serve({ sources, health: { reuseMs: 0 } });
    await fc.assert(
      fc.asyncProperty(anything, async (value) => {
        returned = value;
        // 404: what a Map gives for a key that it has not is a way to say so. The schema is checked by `get`.
        await expectAnswer(host, path, {
          status: part === 'health' ? [200, 503] : [200, 404, 502],
        });
      }),
      { numRuns: 25 },
    );
  }
});

/** Lists of items: how one looks, how a whole answer is made of them, and what tells an item in the answer. */
const LISTS = [
  {
    part: 'tasks',
    method: 'listTasks',
    path: '/api/tasks/',
    fields: TASK_FIELDS,
    good: (id: string) => ({ id, state: 'STARTED' }),
    wrap: (tasks: unknown[]) => ({ tasks, next: null, total: tasks.length }) as unknown,
    shown: (body: Body) => body.tasks?.map(({ task_id }) => task_id),
  },
  {
    part: 'workers',
    method: 'listWorkers',
    path: '/api/workers/',
    fields: WORKER_FIELDS,
    good: (hostname: string) => ({ hostname, status: 'online' }),
    wrap: (list: unknown[]) => list as unknown,
    shown: (body: Body) => body.workers?.map(({ hostname }) => hostname),
  },
  {
    part: 'events',
    method: 'listEvents',
    path: '/api/events/latest/',
    fields: EVENT_FIELDS,
    good: (id: string) => ({ id, type: 'task-sent' }),
    wrap: (events: unknown[]) => ({ events, cursor: 'a', gap: false }) as unknown,
    shown: (body: Body) => body.events?.map(({ id }) => id),
  },
  {
    part: 'schedules',
    method: 'listSchedules',
    path: '/api/beat/schedules/',
    fields: SCHEDULE_FIELDS,
    good: (id: string) => ({ id, name: 'nightly' }),
    wrap: (list: unknown[]) => list as unknown,
    shown: (body: Body) => body.schedules?.map(({ id }) => id),
  },
  {
    part: 'components',
    method: 'listComponents',
    path: '/api/components/',
    fields: COMPONENT_FIELDS,
    good: (key: string) => ({ key, name: 'Redis', enabled: true, status: 'up' }),
    wrap: (list: unknown[]) => list as unknown,
    shown: (body: Body) =>
      Object.keys(body).flatMap((key) => (key.startsWith('shop.') ? [key.slice('shop.'.length)] : [])),
  },
] as const;

interface Body {
  readonly tasks?: readonly { readonly task_id: string }[];
  readonly workers?: readonly { readonly hostname: string }[];
  readonly events?: readonly { readonly id: string }[];
  readonly schedules?: readonly { readonly id: string }[];
}

faultCase(6, 'a list leaves out, counts and reports what cannot be read', async ({ serve, expectAnswer }) => {
  for (const { part, method, path, fields, good, wrap, shown } of LISTS) {
    const [identity = ''] = fields;
    const others = fc.dictionary(fc.constantFrom(...fields.slice(2)), anything);
    const item = fc.oneof(
      fc.record({ isGood: fc.constant(false), extra: anything }),
      // Its other fields may be of any type: they are shown as unknown.
      fc.record({ isGood: fc.constant(true), extra: others }),
    );
    let returned: unknown;
    let reads = 0;
    const onError = vi.fn();
    const sources = sourcesWith(part, method, () => {
      reads += 1;
      return returned;
    });
    const host = await serve({ sources, onError });
    let leftOut = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 8 }), async (items) => {
        const list = items.map(({ isGood, extra }, index) =>
          isGood ? { ...(extra as object), ...good(`item ${index}`) } : extra,
        );
        returned = wrap(list);
        const expected = items.flatMap(({ isGood }, index) => (isGood ? [`item ${index}`] : []));
        const ask = async () => shown((await expectAnswer<Body>(host, path, { status: 200 })).body);
        // Of requests for components within 100 ms, three are answered anew.
        const before = reads;
        if (part === 'components') await until(async () => (await ask()) !== undefined && reads > before);
        expect(await ask()).toEqual(expected);
        leftOut += list.length - expected.length;
      }),
      { numRuns: 30 },
    );
    expect(leftOut, identity).toBeGreaterThan(0);
    const { body } = await host.get<{ history: { config: { unreadable: number } } }>('/api/components/');
    // Of components, this very answer leaves out its own share again.
    expect(body.history.config.unreadable).toBeGreaterThanOrEqual(leftOut);
    expect(String(onError.mock.calls[0]?.[0])).toMatch(/list\w+\(\) returned \d+ items? /);
    expect(onError.mock.calls[0]?.[1]).toMatchObject({
      code: 'source_invalid',
      source: 'shop',
      call: method,
    });
  }
});

const MANY = 1_000_000;
const LONG = 'x'.repeat(100_000_000);
/** What one request may cost in time of the processor, in milliseconds: what others take of it does not count. */
const MOST_CPU_MS = 1_500;
const MOST_BYTES = 8 * 1024 * 1024;

/** Asks while the delay of the event loop and the time of the processor are watched. */
async function askWatched<T>({ expectAnswer, figure }: FaultBench, host: Host, path: string, what: string) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  // The first answer also compiles its schema, and makes one text of what is repeated to be long.
  await host.get(path);
  delay.enable();
  const before = process.cpuUsage();
  const answer = await expectAnswer<T>(host, path, { status: 200 });
  const { user, system } = process.cpuUsage(before);
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  figure(what, `${Math.round(delay.max / 1e6)} ms`);
  expect((user + system) / 1_000, `${what}: time of the processor`).toBeLessThan(MOST_CPU_MS);
  expect(answer.bytes.length, what).toBeLessThan(MOST_BYTES);
  return answer;
}

faultCase(7, 'a source with a million items', async (bench) => {
  const rows = new Array(MANY).fill(shopTask(1));
  const texts = new Array(MANY).fill('queue');
  const worker = { hostname: 'a', status: 'online', queues: texts, registeredTasks: texts };
  const component = { key: 'a', name: 'a', enabled: true, status: 'up', queues: rows, config: { texts } };
  const cases = [
    ['tasks', 'listTasks', '/api/tasks/', { tasks: rows, next: null, total: MANY }],
    ['tasks', 'getTask', '/api/tasks/a/', { ...shopTask(1), children: texts, timeline: rows }],
    ['tasks', 'getTaskStats', '/api/tasks/?stats=5', statsOf(rows, texts)],
    ['workers', 'listWorkers', '/api/workers/', [worker]],
    ['events', 'listEvents', '/api/events/latest/', { events: rows, cursor: 'a', gap: false }],
    ['components', 'listComponents', '/api/components/', [component]],
  ] as const;
  for (const [part, method, path, returned] of cases) {
    const host = await bench.serve({ sources: sourcesWith(part, method, () => returned) });
    await askWatched(bench, host, path, method);
  }
});

function statsOf(rows: readonly unknown[], texts: readonly string[]) {
  return { stepSeconds: 60, series: rows, states: {}, names: rows, workers: texts, queues: texts };
}

faultCase(7, 'a source with values of 100 MB', async (bench) => {
  const task = {
    ...shopTask(1),
    ...{ args: LONG, kwargs: { a: LONG }, result: [LONG], exception: LONG, traceback: LONG, stamps: LONG },
  };
  const tasks = {
    ...createShop().sources.tasks,
    listTasks: ({ search }: { search: (task: never) => boolean }) => ({
      tasks: search(task as never) ? [task] : [],
      next: null,
      total: 1,
    }),
    getTask: () => ({ ...task, children: [], timeline: [{ state: 'FAILURE', detail: LONG }] }),
    getTaskTree: () => ({ rootId: task.id, tasks: [task] }),
  };
  const host = await bench.serve({ sources: { tasks } as never });
  const list = await askWatched<TasksBody>(bench, host, '/api/tasks/', 'list');
  expect(list.body.tasks[0]?.args).toBe(`${'x'.repeat(255)}…`);
  expect(list.body.tasks[0]?.truncated).toEqual(['args', 'kwargs', 'result', 'exception', 'traceback']);
  const detail = await askWatched<TaskDetailBody>(bench, host, '/api/tasks/task-0001/', 'detail');
  expect(detail.body.traceback).toHaveLength(65_536);
  await askWatched(bench, host, '/api/tasks/task-0001/graph/', 'graph');
  const found = await askWatched<TasksBody>(bench, host, '/api/tasks/?q=xxx', 'search');
  expect(found.body.tasks).toHaveLength(1);
  const missed = await askWatched<TasksBody>(bench, host, '/api/tasks/?q=alert', 'search that fails');
  expect(missed.body.tasks).toHaveLength(0);
});

faultCase(7, 'a source with names of 100 MB', async (bench) => {
  const task = { ...shopTask(1), name: LONG, worker: LONG, queue: LONG, groupId: LONG };
  const listTasks = () => ({ tasks: [task, { ...task, id: LONG }], next: null, total: 2 });
  const host = await bench.serve({ sources: sourcesWith('tasks', 'listTasks', listTasks) });
  const { body } = await askWatched<TasksBody>(bench, host, '/api/tasks/', 'names');
  // Names are never cut: one that no engine writes is none, and what has no id is left out.
  expect(body.tasks).toMatchObject([{ task_id: task.id, name: null, worker: null, queue: null }]);
  expect(body.sources[0]?.error).toBe('source_invalid');
});
