/** Sources as a host would write them: a shop with a few tasks in an array. */
import type {
  Component,
  MonitorSources,
  Schedule,
  SourceStatus,
  Task,
  TaskDetail,
  TaskEvent,
  Worker,
} from '../../src/index.ts';
import { selectTasks, summarizeTasks } from '../../src/select.ts';

/** What the shop holds; tests change it. */
export interface Shop {
  tasks: Task[];
  workers: Worker[];
  events: TaskEvent[];
  schedules: Schedule[];
  components: Component[];
  /** Of every part; `undefined`: the parts do not say. */
  status: SourceStatus | undefined;
  /** How often each method was called. */
  readonly calls: Record<string, number>;
  readonly sources: Required<Omit<MonitorSources, 'redact' | 'close' | 'queues' | 'experimental'>>;
}

/** Every time in the shop counts from here. */
export const START = Date.UTC(2026, 10, 21, 2);

export function at(seconds: number): Date {
  return new Date(START + seconds * 1_000);
}

/** A task that the shop ran; the n-th changed n seconds after the start. */
export function shopTask(number: number, more: Partial<Task> = {}): Task {
  const ended = number % 3 !== 0;
  return {
    id: `task-${String(number).padStart(4, '0')}`,
    state: ended ? 'SUCCESS' : 'STARTED',
    name: `shop.${['pay', 'ship', 'mail'][number % 3]}`,
    worker: `celery@shop-${number % 2}`,
    queue: number % 4 === 0 ? 'bulk' : 'default',
    received: at(number - 1),
    started: at(number - 0.5),
    finished: ended ? at(number) : null,
    timestamp: at(number),
    runtime: ended ? 0.5 : null,
    args: `(${number}, 'blue')`,
    kwargs: "{'password': 'hunter2'}",
    retries: 0,
    ...more,
  };
}

export function createShop(count = 25): Shop {
  const calls: Record<string, number> = {};
  const called = (method: string): void => {
    calls[method] = (calls[method] ?? 0) + 1;
  };
  const part = {
    name: 'shop',
    status: (): SourceStatus => shop.status ?? { ok: true, asOf: new Date() },
  };
  const shop: Shop = {
    calls,
    tasks: Array.from({ length: count }, (_, index) => shopTask(index + 1)),
    workers: [
      {
        hostname: 'celery@shop-1',
        status: 'online',
        lastHeartbeat: at(60),
        pid: 42,
        registeredTasks: ['shop.pay', 'shop.ship'],
        queues: ['default'],
        loadAverage: [0.5, 0.25, 0.125],
      },
      { hostname: 'celery@shop-0', status: 'offline' },
    ],
    events: Array.from({ length: 10 }, (_, index) => ({
      id: `event-${10 - index}`,
      type: 'task-succeeded',
      task: 'shop.pay',
      taskId: `task-${10 - index}`,
      state: 'SUCCESS',
      worker: 'celery@shop-1',
      timestamp: at(10 - index),
    })),
    schedules: [{ id: 'nightly', name: 'nightly', task: 'shop.mail', schedule: 'every 30 s', enabled: true }],
    components: [
      {
        key: 'broker',
        name: 'Redis',
        enabled: true,
        status: 'up',
        url: 'redis://:hunter2@db:6379/0',
      },
    ],
    status: undefined,
    sources: {
      tasks: {
        ...part,
        listTasks(query) {
          called('listTasks');
          return selectTasks(shop.tasks, query);
        },
        getTask(id): TaskDetail | null {
          called('getTask');
          const task = shop.tasks.find((candidate) => candidate.id === id);
          return task === undefined ? null : { ...task, children: [], timeline: [] };
        },
        getTaskTree(id) {
          called('getTaskTree');
          const task = shop.tasks.find((candidate) => candidate.id === id);
          if (task === undefined) return null;
          const rootId = task.rootId ?? id;
          return { rootId, tasks: shop.tasks.filter((other) => (other.rootId ?? other.id) === rootId) };
        },
        getTaskStats(query) {
          called('getTaskStats');
          return summarizeTasks(shop.tasks, query);
        },
      },
      workers: {
        ...part,
        listWorkers() {
          called('listWorkers');
          return shop.workers;
        },
      },
      events: {
        ...part,
        listEvents({ limit, since }) {
          called('listEvents');
          const events =
            since === null || 'time' in since
              ? shop.events
              : shop.events.slice(
                  0,
                  shop.events.findIndex(({ id }) => id === since.cursor),
                );
          const listed = since === null ? events.slice(0, limit) : events.slice(-limit);
          return { events: listed, cursor: listed[0]?.id ?? 'none', gap: false };
        },
      },
      schedules: {
        ...part,
        listSchedules() {
          called('listSchedules');
          return shop.schedules;
        },
      },
      health: {
        ...part,
        checkBroker: () => ({ ok: true }),
        checkBackend: () => ({ ok: true, error: null }),
        checkWorkers: () => ({ ok: true, responding: ['celery@shop-1'], missing: [] }),
      },
      components: {
        ...part,
        listComponents() {
          called('listComponents');
          return shop.components;
        },
      },
      history: {
        ...part,
        getHistoryStats: () => ({
          tasks: shop.tasks.length,
          workers: shop.workers.length,
          events: shop.events.length,
          since: at(0),
          evicted: 0,
          bytes: 1_000,
          eventsReceived: 100,
          dropped: 0,
          lagSeconds: 0.25,
        }),
      },
    },
  };
  return shop;
}
