import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TaskEventQuery } from '../../src/index.ts';
import type {
  EventsBody,
  ProblemBody,
  SchedulesBody,
  TaskDetailBody,
  TasksBody,
  WorkersBody,
} from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { createShop, START, shopTask } from '../router/shop-sources.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a list', () => {
  it('/api/tasks/ lists the newest activity first, with every field', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START + 60_000 });
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const { body } = await get<TasksBody>('/api/tasks/?limit=2');
    expect(body.tasks.map(({ task_id }) => task_id)).toEqual(['task-0025', 'task-0024']);
    expect(body.tasks[0]).toEqual({
      task_id: 'task-0025',
      name: 'shop.ship',
      state: 'SUCCESS',
      engine_state: null,
      worker: 'celery@shop-1',
      queue: 'default',
      sent: null,
      received: '2026-11-21T02:00:24.000Z',
      started: '2026-11-21T02:00:24.500Z',
      finished: '2026-11-21T02:00:25.000Z',
      timestamp: '2026-11-21T02:00:25.000Z',
      done: true,
      runtime: 0.5,
      runtime_source: 'engine',
      wait_seconds: 0.5,
      args: "(25, 'blue')",
      kwargs: "{'password': '***'}",
      result: null,
      exception: null,
      traceback: null,
      retries: 0,
      progress: null,
      eta: null,
      expires: null,
      parent_id: null,
      root_id: null,
      group_id: null,
      chord_id: null,
      source: 'shop',
      flags: [],
      cause: null,
      truncated: [],
    });
    expect(body.total).toBe(25);
    expect(body.cursor_exact).toBe(true);
    expect(body.generated_at).toBe('2026-11-21T02:01:00.000Z');
    expect(body.sources).toEqual([
      { name: 'shop', engine: null, ok: true, as_of: '2026-11-21T02:01:00.000Z', error: null },
    ]);
    expect('stats' in body).toBe(false);
  });

  it('/api/tasks/ adds figures when it is asked to', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START + 60_000 });
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const { body } = await get<TasksBody>('/api/tasks/?stats=5&limit=0&name=shop.pay');
    expect(body.stats?.states).toEqual({ STARTED: 8 });
    expect(body.stats?.names[0]).toMatchObject({ name: 'shop.pay', count: 8, failed: 0 });
  });

  it('/api/tasks/ hands the source a query that has been read', async () => {
    const listTasks = vi.fn(() => ({ tasks: [], next: null, total: 0 }));
    const tasks = { ...createShop().sources.tasks, listTasks };
    const { get } = await serve(EXPRESS, { sources: { tasks }, limits: { scan: 500 } });
    await get(
      '/api/tasks/?state=B&state=A&q=BluE&since=1795226400&root_id=r&order=asc&sort=runtime&limit=7&engine_state=paused',
    );
    expect(listTasks).toHaveBeenCalledWith(
      {
        limit: 7,
        after: null,
        states: ['A', 'B'],
        engineStates: ['paused'],
        names: [],
        workers: [],
        queues: [],
        causes: [],
        causeOf: expect.any(Function),
        rootId: 'r',
        parentId: null,
        groupId: null,
        conditions: [],
        q: 'blue',
        search: expect.any(Function),
        since: new Date(START),
        until: null,
        sort: 'runtime',
        order: 'asc',
        scan: 500,
      },
      { client: expect.stringContaining('127.0.0.1'), signal: expect.any(AbortSignal) },
    );
  });

  it('/api/tasks/{task_id}/ shows the whole task', async () => {
    const shop = createShop(3);
    const long = `${'x'.repeat(70_000)}`;
    shop.tasks = [shopTask(1, { result: long, parentId: 'task-0001' })];
    const getTask = (id: string) => ({
      ...shop.tasks[0],
      id,
      state: 'SUCCESS',
      children: ['task-0002'],
      timeline: [{ state: 'STARTED', timestamp: new Date(START), worker: 'celery@shop-0', detail: null }],
    });
    const { get } = await serve(EXPRESS, { sources: { tasks: { ...shop.sources.tasks, getTask } } });
    const { body } = await get<TaskDetailBody>('/api/tasks/task-0001/');
    expect(body).toMatchObject({
      task_id: 'task-0001',
      parent_id: null,
      children: ['task-0002'],
      timeline: [
        { state: 'STARTED', timestamp: '2026-11-21T02:00:00.000Z', worker: 'celery@shop-0', detail: null },
      ],
      truncated: ['result'],
    });
    expect(body.result).toHaveLength(65_536);
  });

  it('/api/tasks/{task_id}/ answers 404 for an id that is not known, also when the source says undefined', async () => {
    const tasks = { ...createShop().sources.tasks, getTask: () => undefined as never };
    const { get } = await serve(EXPRESS, { sources: { tasks } });
    const { status, body } = await get<ProblemBody>('/api/tasks/a/');
    expect([status, body.code, body.title]).toEqual([404, 'task_not_found', 'Not Found']);
  });

  it('/api/workers/ lists workers by hostname', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START + 90_500 });
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const { body } = await get<WorkersBody>('/api/workers/');
    expect(body.workers.map(({ hostname }) => hostname)).toEqual(['celery@shop-0', 'celery@shop-1']);
    expect(body.workers[1]).toMatchObject({
      status: 'online',
      last_heartbeat: '2026-11-21T02:01:00.000Z',
      last_seen_seconds: 30,
      registered: 2,
      load_average: [0.5, 0.25, 0.125],
      source: 'shop',
    });
    expect(body.workers[0]).toMatchObject({ last_seen_seconds: null, registered: null, queues: null });
  });

  it('/api/beat/schedules/ lists schedules', async () => {
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const { body } = await get<SchedulesBody>('/api/beat/schedules/');
    expect(body).toMatchObject({
      enabled: true,
      schedules: [
        { id: 'nightly', schedule: 'every 30 s', enabled: true, next_run_at: null, source: 'shop' },
      ],
      sources: [{ name: 'shop', ok: true }],
    });
  });

  it('/api/events/latest/ lists the newest first and goes on from its cursor', async () => {
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const first = await get<EventsBody>('/api/events/latest/?limit=3');
    expect(first.body.events.map(({ id }) => id)).toEqual(['event-10', 'event-9', 'event-8']);
    expect(first.body.gap).toBe(false);
    const rest = await get<EventsBody>(`/api/events/latest/?since=${first.body.cursor}`);
    expect(rest.body.events).toEqual([]);
  });

  it.each<[string, TaskEventQuery['since']]>([
    ['', null],
    ['&since=2026-11-21T02:00:00.000Z', { time: new Date(START) }],
    ['&since=1795226400', { time: new Date(START) }],
  ])('/api/events/latest/ hands the source what %j means', async (since, expected) => {
    const listEvents = vi.fn(() => ({ events: [], cursor: '1795226400', gap: false }));
    const { get } = await serve(EXPRESS, { sources: { events: { name: 'shop', listEvents } } });
    const { body } = await get<EventsBody>(`/api/events/latest/?task=a&task=b&limit=5${since}`);
    const query = { limit: 5, states: [], workers: [], tasks: ['a', 'b'] };
    expect(listEvents).toHaveBeenLastCalledWith({ ...query, since: expected }, expect.anything());
    await get(`/api/events/latest/?limit=5&task=a&task=b&since=${body.cursor}`);
    const from = { cursor: '1795226400' };
    expect(listEvents).toHaveBeenLastCalledWith({ ...query, since: from }, expect.anything());
  });

  it('/api/events/latest/ says that there is a gap when a source lists more than was asked for', async () => {
    const { events } = createShop();
    const listEvents = () => ({ events, cursor: 'x', gap: false });
    const { get } = await serve(EXPRESS, { sources: { events: { name: 'shop', listEvents } } });
    const { body } = await get<EventsBody>('/api/events/latest/?limit=3&since=0');
    expect(body).toMatchObject({
      gap: true,
      events: [{ id: 'event-3' }, { id: 'event-2' }, { id: 'event-1' }],
    });
  });
});
