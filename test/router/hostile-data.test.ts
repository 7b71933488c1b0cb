import type { Express } from 'express';
import { describe, expect, it, vi } from 'vitest';
import type { ComponentsBody, ProblemBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve, until } from './host-kit.ts';
import { HOSTILE, sourcesWith } from './hostile-values.ts';
import { at, createShop, shopTask } from './shop-sources.ts';

describe('a source', () => {
  it('lists no more rows than were asked for', async () => {
    const tasks = Array.from({ length: 101 }, (_, index) => shopTask(index + 1));
    const listTasks = () => ({ tasks, next: null, total: tasks.length });
    const { get } = await serve(EXPRESS, {
      sources: { tasks: { ...createShop().sources.tasks, listTasks } },
    });
    const { body } = await get<TasksBody>('/api/tasks/');
    expect(body.tasks).toHaveLength(100);
    expect(body.sources[0]?.error).toBe('source_invalid');
  });

  /** Of each list: its route, how an item looks, how an answer is made of items, and what tells them apart in it. */
  it.each<[part: string, method: string, path: string, good: object, wrap: (items: unknown[]) => unknown]>([
    [
      'tasks',
      'listTasks',
      '/api/tasks/',
      { id: 'good', state: 'STARTED' },
      (tasks) => ({ tasks, next: null, total: 1 }),
    ],
    ['workers', 'listWorkers', '/api/workers/', { hostname: 'good', status: 'online' }, (list) => list],
    [
      'events',
      'listEvents',
      '/api/events/latest/',
      { id: 'good', type: 'task-sent' },
      (events) => ({ events, cursor: 'a', gap: false }),
    ],
    ['schedules', 'listSchedules', '/api/beat/schedules/', { id: 'good', name: 'n' }, (list) => list],
    [
      'components',
      'listComponents',
      '/api/components/',
      { key: 'good', name: 'Redis', enabled: true, status: 'up' },
      (list) => list,
    ],
  ])(
    'of %s has what cannot be read left out, counted and reported',
    async (part, method, path, good, wrap) => {
      const bad = [null, 5, 'text', {}, [], HOSTILE];
      const onError = vi.fn();
      const sources = sourcesWith(part, method, () => wrap([...bad, good, ...bad]));
      const { get } = await serve(EXPRESS, { sources, onError });
      const { status, text } = await get(path);
      expect(status).toBe(200);
      expect(text.match(/"(?:shop\.)?good"/g)).toHaveLength(1);
      const { body } = await get<ComponentsBody>('/api/components/');
      expect(body.history?.config?.unreadable).toBeGreaterThanOrEqual(2 * bad.length);
      expect(onError.mock.calls[0]).toMatchObject([
        { message: expect.stringContaining(`${method}() returned ${2 * bad.length} items`) },
        { code: 'source_invalid', source: 'shop', call: method },
      ]);
    },
  );

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
    const { get } = await serve(EXPRESS, {
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
    const { get } = await serve(EXPRESS, {
      sources: { tasks: { ...createShop().sources.tasks, listTasks } },
      limits: { concurrency: 4 },
      timeoutMs: 3_000,
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
    const { get } = await serve(EXPRESS, { sources, timeoutMs: 20_000 }, { before });
    const answers = await Promise.all(Array.from({ length: 20 }, () => get('/api/workers/')));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(listWorkers).toHaveBeenCalledTimes(1);
  });

  it('may throw from its status, and is then away', async () => {
    const status = () => {
      throw new Error('secret');
    };
    const { get } = await serve(EXPRESS, { sources: { tasks: { ...createShop().sources.tasks, status } } });
    const { status: code, text } = await get('/api/tasks/');
    expect(code).toBe(503);
    expect(text).not.toContain('secret');
  });

  it('may answer with a moment that lies behind us or before', async () => {
    const shop = createShop();
    shop.status = { ok: true, asOf: at(1e9), revision: 1, changesAt: at(-1e9) };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    await get('/api/tasks/');
    await get('/api/tasks/');
    expect(shop.calls.listTasks).toBe(2);
  });
});
