import { afterEach, describe, expect, it, vi } from 'vitest';
import type { GraphBody, ScheduleBody, TasksBody, WorkersBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { at, createShop, START, shopTask } from './shop-sources.ts';

const CACHED = [
  '/api/components/',
  '/api/tasks/',
  '/api/tasks/?stats=60',
  '/api/tasks/task-0001/',
  '/api/tasks/task-0001/relations/',
  '/api/tasks/task-0001/graph/',
  '/api/tasks/task-0001/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
];

/** Sets the clock; everything else goes on. */
function setClock(seconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: START + seconds * 1_000 });
}

afterEach(() => {
  vi.useRealTimers();
});

describe('a client that asks again', () => {
  it.each(CACHED)('is told 304 for %s while nothing has changed', async (path) => {
    setClock(100);
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const first = await get(path);
    expect(first.status).toBe(200);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    expect(first.headers.etag).toMatch(/^W\/"[\w-]{20,}"$/);
    setClock(101);
    const headers = { 'if-none-match': String(first.headers.etag) };
    for (const method of ['GET', 'HEAD']) {
      const again = await get(path, { method, headers });
      expect(again.status).toBe(304);
      expect(again.bytes.length).toBe(0);
      expect(again.headers.etag).toBe(first.headers.etag);
      expect(again.headers['cache-control']).toBe('private, no-cache');
      expect(again.headers['content-type']).toBeUndefined();
    }
  });

  it('is told 304 for every form of the tag, and for no other; dates and ranges are passed over', async () => {
    const shop = createShop();
    shop.status = { ok: true, asOf: at(100), revision: 1 };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const tag = String((await get('/api/tasks/')).headers.etag);
    for (const known of [tag, tag.slice(2), `"a", ${tag} ,W/"b"`, '*']) {
      const { status, headers } = await get('/api/tasks/', { headers: { 'if-none-match': known } });
      expect([known, status, headers.etag]).toEqual([known, 304, tag]);
    }
    for (const headers of [
      ...['"a"', 'W/"a"', '', 'x', '"', 'W/', ','.repeat(1_000), '"a, *, b"', '*, "a"'].map((other) => ({
        'if-none-match': other,
      })),
      { 'if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' },
      { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
      { 'if-match': '"a"' },
      { range: 'bytes=0-1' },
      { range: 'bytes=0-1', 'if-range': tag },
    ]) {
      const whole = await get('/api/tasks/', { headers });
      expect([headers, whole.status, whole.headers.etag]).toEqual([headers, 200, tag]);
      expect(whole.headers['content-range']).toBeUndefined();
    }
    expect(shop.calls.listTasks).toBe(1);
  });

  it('gets no 304 in place of anything but a 200', async () => {
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const headers = { 'if-none-match': '*' };
    for (const [path, status] of [
      ['/api/tasks/?nonsense=1', 400],
      ['/api/tasks/unknown/', 404],
      ['/metrics', 404],
      ['/healthcheck', 200],
      ['/api/tasks', 308],
    ] as const) {
      const answer = await get(path, { headers });
      expect([path, answer.status]).toEqual([path, status]);
      expect([path, answer.headers['cache-control']]).toEqual([path, 'no-store']);
      expect([path, answer.headers.etag]).toEqual([path, undefined]);
    }
  });

  it.each<[string, (shop: ReturnType<typeof createShop>) => void]>([
    ['/api/tasks/', (shop) => shop.tasks.push(shopTask(99))],
    [
      '/api/tasks/',
      (shop) => {
        shop.status = { ok: false, asOf: at(0) };
      },
    ],
    [
      '/api/tasks/task-0001/',
      (shop) => {
        shop.tasks[0] = shopTask(1, { retries: 1 });
      },
    ],
    [
      '/api/tasks/task-0001/graph/',
      (shop) => {
        shop.tasks[0] = shopTask(1, { state: 'FAILURE' });
      },
    ],
    [
      '/api/workers/',
      (shop) => {
        shop.workers = [{ hostname: 'celery@shop-1', status: 'stale' }];
      },
    ],
    ['/api/events/latest/', (shop) => void shop.events.shift()],
    [
      '/api/beat/schedules/',
      (shop) => {
        shop.schedules = [];
      },
    ],
    [
      '/api/components/',
      (shop) => {
        shop.components = [];
      },
    ],
  ])('gets another tag for %s once something has changed', async (path, change) => {
    setClock(100);
    const shop = createShop();
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const before = await get(path);
    change(shop);
    const after = await get(path, { headers: { 'if-none-match': String(before.headers.etag) } });
    expect(after.status).toBe(200);
    expect(after.headers.etag).not.toBe(before.headers.etag);
  });

  it('gets a 304 while only the age of a heartbeat changes', async () => {
    setClock(70);
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const one = await get<WorkersBody>('/api/workers/');
    setClock(75);
    const two = await get<WorkersBody>('/api/workers/');
    expect(one.headers.etag).toBe(two.headers.etag);
    expect([one, two].map(({ body }) => body.workers[1]?.last_seen_seconds)).toEqual([10, 15]);
  });
});

describe('a source that says when it changes', () => {
  it('is not asked again before it has', async () => {
    setClock(100);
    const shop = createShop();
    shop.status = { ok: true, asOf: at(100), revision: 1 };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const one = await get<TasksBody>('/api/tasks/?limit=5&state=SUCCESS');
    setClock(109);
    shop.status = { ok: true, asOf: at(109), revision: 1 };
    const two = await get<TasksBody>('/api/tasks/?state=SUCCESS&limit=5');
    expect(shop.calls.listTasks).toBe(1);
    expect(two.headers.etag).toBe(one.headers.etag);
    expect(two.body.generated_at).toBe('2026-11-21T02:01:49.000Z');
    expect(two.body.sources[0]?.as_of).toBe('2026-11-21T02:01:49.000Z');
    expect(two.body.tasks).toEqual(one.body.tasks);
    expect(two.headers.link).toMatch(/^<\?state=SUCCESS&limit=5&cursor=[\w-]+>; rel="next"$/);

    shop.status = { ok: true, asOf: at(109), revision: 2 };
    await get('/api/tasks/?limit=5&state=SUCCESS');
    expect(shop.calls.listTasks).toBe(2);
  });

  it('shares one body for a second', async () => {
    setClock(100);
    const shop = createShop();
    shop.status = { ok: true, asOf: at(100), revision: 1 };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const one = await get('/api/tasks/');
    setClock(100.999);
    expect((await get('/api/tasks/')).text).toBe(one.text);
    setClock(101);
    expect((await get<TasksBody>('/api/tasks/')).body.generated_at).toBe('2026-11-21T02:01:41.000Z');
  });

  it('is asked again once the clock alone changes an answer', async () => {
    setClock(100);
    const shop = createShop();
    shop.status = { ok: true, asOf: at(100), revision: 1, changesAt: at(130) };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    await get('/api/workers/');
    setClock(129.999);
    await get('/api/workers/');
    expect(shop.calls.listWorkers).toBe(1);
    setClock(130);
    await get('/api/workers/');
    expect(shop.calls.listWorkers).toBe(2);
  });

  it('is asked again when it was asked while it changed', async () => {
    const shop = createShop();
    shop.status = { ok: true, asOf: at(100), revision: 1 };
    const sources = {
      ...shop.sources,
      schedules: {
        ...shop.sources.schedules,
        listSchedules() {
          shop.status = { ok: true, asOf: at(100), revision: (shop.calls.listSchedules ?? 0) === 0 ? 2 : 3 };
          return shop.sources.schedules.listSchedules({ signal: new AbortController().signal });
        },
      },
    };
    const { get } = await serve(EXPRESS, { sources });
    await get<{ schedules: ScheduleBody[] }>('/api/beat/schedules/');
    await get('/api/beat/schedules/');
    expect(shop.calls.listSchedules).toBe(2);
  });

  it('is asked for figures again, for they move on with the clock', async () => {
    setClock(100);
    const shop = createShop();
    shop.status = { ok: true, asOf: at(100), revision: 1 };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    await get('/api/tasks/?stats=1');
    setClock(100.5);
    await get('/api/tasks/?stats=1');
    expect(shop.calls.getTaskStats).toBe(1);
    setClock(101);
    await get('/api/tasks/?stats=1');
    expect(shop.calls.getTaskStats).toBe(2);
  });

  it('has each part of it answered for itself', async () => {
    const shop = createShop();
    shop.status = { ok: true, asOf: at(100), revision: 1 };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const graph = await get<GraphBody>('/api/tasks/task-0001/graph/');
    const relations = await get('/api/tasks/task-0001/relations/');
    const detail = await get('/api/tasks/task-0001/');
    const other = await get('/api/tasks/task-0002/');
    expect(new Set([graph, relations, detail, other].map(({ headers }) => headers.etag)).size).toBe(4);
  });
});
