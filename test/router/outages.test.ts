import { describe, expect, it } from 'vitest';
import type { MonitorSources } from '../../src/index.ts';
import type { ProblemBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { at, createShop } from './shop-sources.ts';

const READ = [
  '/api/tasks/',
  '/api/tasks/task-0001/',
  '/api/tasks/task-0001/relations/',
  '/api/tasks/task-0001/graph/',
  '/api/tasks/task-0001/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
];

/** The shop's sources with a switch that makes every method behave otherwise. */
function breakable(shop = createShop()) {
  const state: { act: (() => unknown) | null } = { act: null };
  const sources = Object.fromEntries(
    Object.entries(shop.sources).map(([name, part]) => [
      name,
      new Proxy(part, {
        get(target, key, receiver) {
          const value = Reflect.get(target, key, receiver);
          if (typeof value !== 'function' || key === 'status') return value;
          return (...given: unknown[]) => (state.act === null ? value.apply(target, given) : state.act());
        },
      }),
    ]),
  ) as MonitorSources;
  return { shop, state, sources };
}

describe('a source that is away', () => {
  it.each(READ)('answers %s with what it holds, and says how old that is', async (path) => {
    const shop = createShop();
    shop.status = { ok: false, asOf: at(30), error: 'source_timeout' };
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const { status, body } = await get<TasksBody>(path);
    expect(status).toBe(200);
    expect(body.sources).toEqual([
      {
        name: 'shop',
        engine: null,
        ok: false,
        as_of: '2026-11-21T02:00:30.000Z',
        error: 'source_timeout',
      },
    ]);
  });

  it.each(READ)('answers %s with 503 or 504 when it never had anything to show', async (path) => {
    const shop = createShop();
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    for (const [error, status] of [
      ['source_unavailable', 503],
      ['source_timeout', 504],
      ['overloaded', 503],
      [undefined, 503],
    ] as const) {
      shop.status = { ok: false, asOf: null, ...(error && { error }) };
      const answer = await get<ProblemBody>(path);
      expect([answer.status, answer.body.code]).toEqual([status, error ?? 'source_unavailable']);
      expect(answer.headers['retry-after'] !== undefined).toBe(status === 503);
    }
    expect(shop.calls).toEqual({});
  });

  it.each(READ)('answers %s with 503 or 504 when it fails at the first time of asking', async (path) => {
    const { state, sources } = breakable();
    const { get } = await serve(EXPRESS, { sources, timeoutMs: 30 });
    state.act = () => Promise.reject(new Error('redis://:hunter2@db'));
    const refused = await get<ProblemBody>(path);
    expect([refused.status, refused.body.code]).toEqual([503, 'source_unavailable']);
    expect(refused.headers['retry-after']).toBe('5');
    expect(refused.text).not.toContain('hunter2');
    state.act = () => new Promise(() => {});
    const late = await get<ProblemBody>(path);
    expect([late.status, late.body.code]).toEqual([504, 'source_timeout']);
  });

  it.each(READ)('answers %s with what it said last once it fails', async (path) => {
    const { shop, state, sources } = breakable();
    shop.status = { ok: true, asOf: at(30) };
    const { get } = await serve(EXPRESS, { sources, timeoutMs: 30 });
    const before = await get<TasksBody>(path);
    expect(before.body.sources).toMatchObject([{ ok: true, as_of: '2026-11-21T02:00:30.000Z', error: null }]);
    shop.status = { ok: true, asOf: at(60) };
    for (const [act, error] of [
      [() => Promise.reject(new Error('down')), 'source_unavailable'],
      [() => new Promise(() => {}), 'source_timeout'],
    ] as const) {
      state.act = act;
      const after = await get<TasksBody>(path);
      expect(after.status).toBe(200);
      expect(after.body.sources).toEqual([
        { name: 'shop', engine: null, ok: false, as_of: '2026-11-21T02:00:30.000Z', error },
      ]);
      expect(after.headers.etag).not.toBe(before.headers.etag);
      expect(after.body.tasks).toEqual(before.body.tasks);
    }
    state.act = null;
    const back = await get<TasksBody>(path);
    expect(back.body.sources).toMatchObject([{ ok: true, as_of: '2026-11-21T02:01:00.000Z', error: null }]);
    expect(back.headers.etag).toBe(before.headers.etag);
  });

  it('answers 503 and not 404 for an id that it does not know', async () => {
    const shop = createShop();
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const paths = ['', 'relations/', 'graph/', 'graph/updates/'].map((rest) => `/api/tasks/unknown/${rest}`);
    for (const path of paths) {
      const { status, body } = await get<ProblemBody>(path);
      expect([status, body.code]).toEqual([404, 'task_not_found']);
    }
    shop.status = { ok: false, asOf: at(30) };
    for (const path of paths) expect((await get(path)).status).toBe(503);
  });

  it('goes away between being asked and answering without passing for current', async () => {
    const shop = createShop();
    shop.status = { ok: true, asOf: at(30) };
    const tasks = {
      ...shop.sources.tasks,
      getTask(id: string) {
        shop.status = { ok: false, asOf: at(30) };
        return { id, state: 'STARTED' };
      },
    };
    const { get } = await serve(EXPRESS, { sources: { tasks } });
    const { body } = await get<TaskDetailBody>('/api/tasks/a/');
    expect(body.sources).toMatchObject([{ ok: false, error: 'source_unavailable' }]);
  });
});

describe('a route without its source', () => {
  it.each(READ)('answers %s with 501, but for schedules', async (path) => {
    const { get } = await serve(EXPRESS, {});
    const answer = await get(path);
    if (path === '/api/beat/schedules/') {
      expect(answer.body).toEqual({ enabled: false, schedules: [], sources: [] });
      return;
    }
    expect(answer.status).toBe(501);
    expect(answer.body).toMatchObject({ code: 'source_not_configured' });
  });

  it('answers 501 for the graph of a source that knows no workflows', async () => {
    const { getTaskTree: _, ...tasks } = createShop().sources.tasks;
    const { get } = await serve(EXPRESS, { sources: { tasks } });
    for (const rest of ['relations/', 'graph/', 'graph/updates/']) {
      expect((await get(`/api/tasks/task-0001/${rest}`)).status).toBe(501);
    }
    expect((await get('/api/tasks/task-0001/')).status).toBe(200);
  });

  it('says that there are no figures where a source has none', async () => {
    const { getTaskStats: _, ...tasks } = createShop().sources.tasks;
    const { get } = await serve(EXPRESS, { sources: { tasks } });
    expect((await get<TasksBody>('/api/tasks/?stats=5')).body.stats).toBeNull();
  });
});
