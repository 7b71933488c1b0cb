import type { Express } from 'express';
import { describe, expect, it, vi } from 'vitest';
import type { ProblemBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve, until } from './host-kit.ts';
import { HOSTILE, sourcesWith } from './hostile-values.ts';
import { at, createShop, shopTask } from './shop-sources.ts';

/** How long an answer may take on a slow machine: ten times what is aimed at. */
const PROMPT_MS = 10_000;

describe.each(EXPRESS_MAJORS)('on $name, a source', (major) => {
  it('leaves what cannot be read out of a list, and tells the host', async () => {
    const onError = vi.fn();
    const shop = createShop(3);
    shop.tasks = [shopTask(1), null, 5, {}, { id: '' }, { id: 'a' }, HOSTILE, shopTask(2)] as never;
    const listTasks = () => ({ tasks: shop.tasks, next: null, total: 8 });
    const { get } = await serve(major, { sources: { tasks: { ...shop.sources.tasks, listTasks } }, onError });
    const { status, body } = await get<TasksBody>('/api/tasks/');
    expect(status).toBe(200);
    expect(body.tasks.map(({ task_id }) => task_id)).toEqual(['task-0001', 'task-0002']);
    expect(body.sources).toMatchObject([{ ok: true, error: 'source_invalid' }]);
    expect(onError).toHaveBeenCalledWith(
      expect.objectContaining({ message: expect.stringContaining('listTasks() returned 6 items') }),
      expect.objectContaining({ code: 'source_invalid', source: 'shop', call: 'listTasks' }),
    );
    const components = await get<Record<string, { config: unknown }>>('/api/components/');
    expect(components.body.history?.config).toMatchObject({ unreadable: 6 });
  });

  it.each([
    ['a million rows', () => new Array(1_000_000).fill(shopTask(1))],
    ['more rows than were asked for', () => Array.from({ length: 101 }, (_, index) => shopTask(index + 1))],
  ])('lists no more than was asked for of %s', async (_, rows) => {
    const tasks = rows();
    const listTasks = () => ({ tasks, next: null, total: tasks.length });
    const { get } = await serve(major, { sources: { tasks: { ...createShop().sources.tasks, listTasks } } });
    const start = performance.now();
    const { body } = await get<TasksBody>('/api/tasks/');
    expect(performance.now() - start).toBeLessThan(PROMPT_MS);
    expect(body.tasks).toHaveLength(100);
    expect(body.sources[0]?.error).toBe('source_invalid');
  });

  it.each([
    ['/api/workers/', 'workers', 'listWorkers', { hostname: 'a', status: 'online' }],
    ['/api/beat/schedules/', 'schedules', 'listSchedules', { id: 'a', name: 'a' }],
    [
      '/api/components/',
      'components',
      'listComponents',
      { key: 'a', name: 'a', enabled: true, status: 'up' },
    ],
  ] as const)('lists a bounded number of a million rows of %s', async (path, part, method, row) => {
    const rows = new Array(1_000_000).fill(row);
    const { get } = await serve(major, { sources: sourcesWith(part, method, () => rows) });
    const start = performance.now();
    const { status, bytes } = await get(path);
    expect(status).toBe(200);
    expect(bytes.length).toBeLessThan(5 * 1024 * 1024);
    expect(performance.now() - start).toBeLessThan(2 * PROMPT_MS);
  });

  it('shows values of any kind', async () => {
    const circular: Record<string, unknown> = { a: 1 };
    circular.self = circular;
    let deep: unknown = 'end';
    for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
    const values = [
      circular,
      deep,
      10n,
      Symbol('a'),
      () => 1,
      Number.NaN,
      -0,
      new Date(Number.NaN),
      Buffer.alloc(9),
      new Map([[1, 2]]),
      new Error('a'),
      HOSTILE,
      '\ud800',
      'x'.repeat(1_000_000),
    ];
    for (const value of values) {
      const task = {
        ...shopTask(1),
        args: value,
        kwargs: value,
        result: value,
        exception: value,
        traceback: value,
        stamps: value,
      };
      const { sources } = createShop();
      const tasks = {
        ...sources.tasks,
        listTasks: () => ({ tasks: [task], next: null, total: 1 }),
        getTask: () => task,
        getTaskTree: () => ({ rootId: task.id, tasks: [task] }),
      };
      const { get } = await serve(major, { sources: { tasks } });
      for (const path of ['', 'task-0001/', 'task-0001/graph/', 'task-0001/relations/', '?q=a&stats=5']) {
        expect((await get(`/api/tasks/${path}`)).status).toBe(200);
      }
    }
  });

  it('shows what is no number, text or time as unknown', async () => {
    const odd = {
      toJSON: () => {
        throw new Error('secret');
      },
    };
    const task = {
      id: 'a',
      state: 'STARTED',
      name: 5,
      worker: odd,
      queue: [],
      sent: 'today',
      received: new Date(Number.NaN),
      runtime: Number.POSITIVE_INFINITY,
      retries: 1.5,
      parentId: {},
      rootId: 7,
      flags: 'x',
      truncated: [odd],
      children: 5,
      timeline: {},
    } as never;
    const { get } = await serve(major, {
      sources: { tasks: { ...createShop().sources.tasks, getTask: () => task } },
    });
    const { body } = await get<TaskDetailBody>('/api/tasks/a/');
    expect(body).toMatchObject({
      name: null,
      worker: null,
      queue: null,
      sent: null,
      received: null,
      runtime: null,
      retries: null,
      parent_id: null,
      flags: [],
      children: [],
      timeline: [],
    });
  });

  it('is not asked more than it can bear, and not at all once it hangs', async () => {
    let calls = 0;
    const listTasks = () => {
      calls += 1;
      return new Promise<never>(() => {});
    };
    const { get } = await serve(major, {
      sources: { tasks: { ...createShop().sources.tasks, listTasks } },
      limits: { concurrency: 2 },
      timeoutMs: 1_000,
    });
    const one = await Promise.all([1, 2, 3].map((limit) => get<ProblemBody>(`/api/tasks/?limit=${limit}`)));
    expect(one.map(({ body }) => body.code).sort()).toEqual([
      'overloaded',
      'source_timeout',
      'source_timeout',
    ]);
    expect(one.find(({ body }) => body.code === 'overloaded')?.headers['retry-after']).toBe('1');
    expect((await get('/api/tasks/?limit=4')).status).toBe(504);
    expect(calls).toBe(3);
    // Had it waited for the source, it would be a 504.
    expect((await get('/api/tasks/?limit=5')).status).toBe(503);
    expect(calls).toBe(3);
  });

  it('is asked once by all who ask the same at the same moment', async () => {
    let arrived = 0;
    const before = (app: Express): void =>
      void app.use((_request, _response, next) => {
        arrived += 1;
        next();
      });
    const listWorkers = vi.fn(async () => {
      await until(() => arrived === 20);
      return [];
    });
    const sources = { workers: { name: 'shop', listWorkers } };
    const { get } = await serve(major, { sources, timeoutMs: 20_000 }, { before });
    const answers = await Promise.all(Array.from({ length: 20 }, () => get('/api/workers/')));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(listWorkers).toHaveBeenCalledTimes(1);
  });

  it('may throw from its status, and is then away', async () => {
    const status = () => {
      throw new Error('secret');
    };
    const { get } = await serve(major, { sources: { tasks: { ...createShop().sources.tasks, status } } });
    const { status: code, text } = await get('/api/tasks/');
    expect(code).toBe(503);
    expect(text).not.toContain('secret');
  });

  it('may answer with a moment that lies behind us or before', async () => {
    const shop = createShop();
    shop.status = { ok: true, asOf: at(1e9), revision: 1, changesAt: at(-1e9) };
    const { get } = await serve(major, { sources: shop.sources });
    await get('/api/tasks/');
    await get('/api/tasks/');
    expect(shop.calls.listTasks).toBe(2);
  });
});
