import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type {
  ComponentsBody,
  EventsBody,
  HealthBody,
  ProblemBody,
  SchedulesBody,
  TaskDetailBody,
  TasksBody,
  WorkersBody,
} from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { at, createShop, type Shop, shopTask } from '../router/shop-sources.ts';
import { type Breakable, breakable } from './combine-kit.ts';

type Bundle = Shop['sources'];

/** A shop of another name, every part of which breaks as it is told. */
function branch(name: string, count = 3) {
  const shop = createShop(count);
  shop.tasks = shop.tasks.map((task, index) => ({ ...task, id: `${name}-${index + 1}` }));
  shop.workers = shop.workers.map((worker) => ({ ...worker, hostname: `${worker.hostname}.${name}` }));
  const parts: Record<string, Breakable<object>> = {};
  for (const [kind, part] of Object.entries(shop.sources)) parts[kind] = breakable({ ...part, name });
  const sources = Object.fromEntries(
    Object.entries(parts).map(([kind, { part }]) => [kind, part]),
  ) as unknown as Bundle;
  const act = (does: (() => unknown) | null): void => {
    for (const part of Object.values(parts)) part.act = does;
  };
  return { shop, sources, act };
}

const FAILS = {
  'is dead': { act: () => Promise.reject(new Error('redis://:hunter2@db')), error: 'source_unavailable' },
  throws: {
    act: () => {
      throw new Error('hunter2');
    },
    error: 'source_unavailable',
  },
  hangs: { act: () => new Promise(() => {}), error: 'source_timeout' },
  'answers nonsense': { act: () => 7, error: 'source_invalid' },
} as const;

describe('a monitor of two sources', () => {
  it('shows one list in one order, each row with its source, and one entry per source', async () => {
    const [east, west] = [branch('east'), branch('west')];
    const { get } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
    const { body, headers } = await get<TasksBody>('/api/tasks/?limit=4&stats=60');
    expect(body.tasks.map(({ task_id: id, source }) => `${source} ${id}`)).toEqual([
      'east east-3',
      'west west-3',
      'east east-2',
      'west west-2',
    ]);
    expect(body.sources.map(({ name, ok, error }) => [name, ok, error])).toEqual([
      ['east', true, null],
      ['west', true, null],
    ]);
    expect(body.total).toBe(6);
    const next = await get<TasksBody>(`/api/tasks/${/<(\?[^>]*)>/.exec(String(headers.link))?.[1]}`);
    expect(next.body.tasks.map(({ task_id: id }) => id)).toEqual(['east-1', 'west-1']);
    expect(next.body.next_cursor).toBeNull();
  });

  it('finds a task and its workflow in the source that knows it', async () => {
    const [east, west] = [branch('east'), branch('west')];
    const { get } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
    expect((await get<TaskDetailBody>('/api/tasks/west-2/')).body.source).toBe('west');
    for (const rest of ['relations/', 'graph/', 'graph/updates/']) {
      expect((await get(`/api/tasks/west-2/${rest}`)).status).toBe(200);
      expect((await get(`/api/tasks/nobody/${rest}`)).status).toBe(404);
    }
    west.act(FAILS['is dead'].act);
    const unknown = await get<ProblemBody>('/api/tasks/nobody/');
    expect([unknown.status, unknown.body.code]).toEqual([503, 'source_unavailable']);
    expect((await get('/api/tasks/east-2/')).status).toBe(200);
  });

  it('shows workers, events, schedules, components and history of both', async () => {
    const [east, west] = [branch('east'), branch('west')];
    const { get } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
    const workers = (await get<WorkersBody>('/api/workers/')).body;
    expect(workers.workers.map(({ hostname, source }) => `${source} ${hostname}`)).toEqual([
      'east celery@shop-0.east',
      'west celery@shop-0.west',
      'east celery@shop-1.east',
      'west celery@shop-1.west',
    ]);
    const events = (await get<EventsBody>('/api/events/latest/?limit=3')).body;
    expect(events.events.map(({ id }) => id)).toEqual(['west.event-10', 'east.event-10', 'west.event-9']);
    const schedules = (await get<SchedulesBody>('/api/beat/schedules/')).body;
    expect(schedules.schedules.map(({ source }) => source)).toEqual(['east', 'west']);
    const components = (await get<ComponentsBody>('/api/components/')).body;
    expect(Object.keys(components)).toEqual([
      'web',
      'metrics',
      'beat',
      'history',
      'queues',
      'findings',
      'east.broker',
      'west.broker',
    ]);
    expect(components.history).toMatchObject({ status: 'up', config: { tasks: 6, events: 20 } });
  });

  it.each(Object.entries(FAILS))('answers the one while the other %s, in time', async (_, fails) => {
    const [east, west] = [branch('east'), branch('west')];
    west.act(fails.act);
    const sources = combineSources(east.sources, west.sources);
    const { get } = await serve(EXPRESS, { sources, timeoutMs: 200 });
    const away = { name: 'west', engine: null, ok: false, as_of: null, error: fails.error };
    const tasks = await get<TasksBody>('/api/tasks/?stats=60');
    expect(tasks.status).toBe(200);
    expect(tasks.text).not.toContain('hunter2');
    expect(tasks.body.tasks.map(({ source }) => source)).toEqual(['east', 'east', 'east']);
    expect(tasks.body).toMatchObject({ total: null, sources: [{ name: 'east', ok: true }, away] });
    const workers = (await get<WorkersBody>('/api/workers/')).body;
    expect(workers.workers).toHaveLength(2);
    expect(workers.sources[1]).toEqual(away);
    const events = (await get<EventsBody>('/api/events/latest/')).body;
    expect(events.events).toHaveLength(10);
    expect(events.sources[1]).toEqual(away);
    const schedules = (await get<SchedulesBody>('/api/beat/schedules/')).body;
    expect(schedules.sources[1]).toEqual(away);
    const components = (await get<ComponentsBody>('/api/components/')).body;
    expect(components['east.broker']?.status).toBe('up');
    expect(components['west.source']?.status).toBe('down');
    const health = await get<HealthBody>('/healthcheck');
    expect(health.status).toBe(503);
    expect(health.body.checks.broker?.error).toMatch(/^west: /);
    expect(health.body.checks.workers?.responding).toEqual(['celery@shop-1']);
  });

  it('answers the one while the other hangs, also when the host holds up the event loop beyond all deadlines', async () => {
    const [east, west] = [branch('east'), branch('west')];
    const holdUp = (ms: number): void => {
      for (const end = performance.now() + ms; performance.now() < end; );
    };
    // Node runs timers by their lengths: with an older one of the same length, the deadline of the whole comes first.
    const older = setTimeout(() => {}, 200);
    await new Promise(setImmediate);
    holdUp(100);
    let isHeldUp = false;
    west.act(() => {
      if (!isHeldUp) setImmediate(() => holdUp(400));
      isHeldUp = true;
      return new Promise(() => {});
    });
    const sources = combineSources(east.sources, west.sources);
    const { get } = await serve(EXPRESS, { sources, timeoutMs: 200 });
    const { status, body } = await get<TasksBody>('/api/tasks/?stats=60');
    clearTimeout(older);
    expect([status, isHeldUp]).toEqual([200, true]);
    expect(body.sources).toMatchObject([{ ok: true }, { ok: false, error: 'source_timeout' }]);
  });

  it('keeps the last data of the one that goes away, tells how old it is, and asks again', async () => {
    const [east, west] = [branch('east'), branch('west')];
    const status = { ok: true, asOf: at(30), revision: 1 };
    east.shop.status = status;
    west.shop.status = status;
    const { get } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
    const before = await get<TasksBody>('/api/tasks/');
    west.act(FAILS['is dead'].act);
    east.shop.tasks.push(shopTask(20, { id: 'east-new' }));
    east.shop.status = { ...status, revision: 2 };
    const during = await get<TasksBody>('/api/tasks/');
    expect(during.body.tasks.map(({ task_id: id }) => id)).toContain('east-new');
    expect(during.body.tasks).toHaveLength(7);
    expect(during.body.sources[1]).toEqual({
      name: 'west',
      engine: null,
      ok: false,
      as_of: '2026-11-21T02:00:30.000Z',
      error: 'source_unavailable',
    });
    west.act(null);
    const after = await get<TasksBody>('/api/tasks/');
    expect(after.body.sources[1]).toMatchObject({ ok: true, error: null });
    expect(after.body.tasks).toHaveLength(7);
    expect(after.headers.etag).not.toBe(before.headers.etag);
  });

  it('answers 503 or 504 when neither has anything to show', async () => {
    for (const [fails, status] of [
      [FAILS['is dead'], 503],
      [FAILS.hangs, 504],
    ] as const) {
      const [east, west] = [branch('east'), branch('west')];
      east.act(fails.act);
      west.act(fails.act);
      const sources = combineSources(east.sources, west.sources);
      const { get } = await serve(EXPRESS, { sources, timeoutMs: 100 });
      for (const path of ['/api/tasks/', '/api/tasks/x/', '/api/workers/', '/api/events/latest/']) {
        expect((await get<ProblemBody>(path)).body.code).toBe(fails.error);
        expect((await get(path)).status).toBeOneOf([status, 503]);
      }
    }
  });

  it('keeps the place of the one that is away, for a client that goes on when it is back', async () => {
    const [east, west] = [branch('east'), branch('west')];
    const { get } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
    west.act(FAILS['is dead'].act);
    const first = (await get<TasksBody>('/api/tasks/')).body;
    expect(first.tasks.map(({ task_id: id }) => id)).toEqual(['east-3', 'east-2', 'east-1']);
    const path = `/api/tasks/?cursor=${first.next_cursor}`;
    expect((await get<ProblemBody>(path)).status).toBe(503);
    west.act(null);
    const second = (await get<TasksBody>(path)).body;
    expect(second.tasks.map(({ task_id: id }) => id)).toEqual(['west-3', 'west-2', 'west-1']);
    expect(second.next_cursor).toBeNull();
    expect(second.total).toBe(6);
  });

  it('answers from what it has while both say that nothing has changed, and 304', async () => {
    const [east, west] = [branch('east'), branch('west')];
    for (const { shop } of [east, west]) shop.status = { ok: true, asOf: at(30), revision: 1 };
    const { get } = await serve(EXPRESS, { sources: combineSources(east.sources, west.sources) });
    const first = await get('/api/tasks/');
    const headers = { 'if-none-match': String(first.headers.etag) };
    expect((await get('/api/tasks/', { headers })).status).toBe(304);
    expect(west.shop.calls.listTasks).toBe(1);
    west.shop.status = { ok: true, asOf: at(31), revision: 2 };
    expect((await get('/api/tasks/', { headers })).status).toBe(304);
    expect([east.shop.calls.listTasks, west.shop.calls.listTasks]).toEqual([2, 2]);
    west.shop.status = { ok: false, asOf: at(31), revision: 2 };
    const away = await get<TasksBody>('/api/tasks/', { headers });
    expect(away.status).toBe(200);
    expect(away.body.sources[1]).toMatchObject({ ok: false, as_of: '2026-11-21T02:00:31.000Z' });
  });

  it('answers exactly as the one source does when there is no other', async () => {
    const { sources } = createShop();
    const alone = await serve(EXPRESS, { sources });
    const combined = await serve(EXPRESS, { sources: combineSources(combineSources(sources)) });
    const paths = ['/api/tasks/?limit=4', '/api/tasks/task-0001/', '/api/workers/', '/api/events/latest/'];
    for (const path of paths) {
      const [expected, actual] = [await alone.get<TasksBody>(path), await combined.get<TasksBody>(path)];
      expect(actual.headers.etag).toBe(expected.headers.etag);
      expect(actual.body.next_cursor).toBe(expected.body.next_cursor);
    }
  });
});
