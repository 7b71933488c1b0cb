/** Rows 6 and 7: a source that returns what is not of its type, or far too much of it. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, vi } from 'vitest';
import type { TaskDetailBody, TasksBody } from '../../src/wire.ts';
import type { Host } from '../router/host-kit.ts';
import { HOSTILE, METHODS, sourcesWith, WRONG } from '../router/hostile-values.ts';
import { createShop, shopTask } from '../router/shop-sources.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';

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
