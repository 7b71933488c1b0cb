import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createMonitorClient } from '../../src/client.ts';
import { combineSources, type MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { ComponentsBody, ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { createShop } from '../router/shop-sources.ts';

const MINUTE = 60_000;
/** A window that has ended, so that its figures stay. */
const END = Math.floor(Date.now() / MINUTE) * MINUTE - MINUTE;
const WINDOW = `stats=60&stats_until=${new Date(END).toISOString()}`;

/** Two hours of payments, of which every tenth fails, and of mail in the last one alone. */
function createQueue(name = 'shop') {
  const queue = memorySources({ name });
  for (let minute = 119; minute > 0; minute -= 1) {
    const timestamp = END - minute * MINUTE;
    const task = { name: 'pay', queue: 'orders', timestamp, runtime: minute > 60 ? 1 / 3 : 2 / 3 };
    if (minute % 10 > 0) queue.record({ ...task, id: `${name} pay ${minute}`, state: 'SUCCESS' });
    else queue.record({ ...task, id: `${name} pay ${minute}`, state: 'FAILURE', error: 'Declined: hunter' });
    if (minute > 60) continue;
    queue.record({ ...task, id: `${name} mail ${minute}`, name: 'mail', state: 'SUCCESS' });
  }
  queue.recordWorker({ hostname: `w1@${name}`, concurrency: 4, active: 1, interval: 3_600 });
  queue.recordWorker({ hostname: `w2@${name}`, concurrency: 2, active: 2, interval: 3_600 });
  return queue;
}

const open = (options: MonitorOptions) => serve(EXPRESS, options);

describe('/api/components/ with stats', () => {
  it('adds the figures of the list of tasks in columns', async () => {
    const { get } = await open({ sources: createQueue() });
    const { checks, workers, tasks, findings } = (await get<ComponentsBody>(`/api/components/?${WINDOW}`))
      .body;
    const { stats } = (await get<TasksBody>(`/api/tasks/?limit=0&stats_causes=5&${WINDOW}`)).body;
    expect([checks?.status, workers?.status, tasks?.status, findings?.status]).toEqual(Array(4).fill('up'));
    const columns = tasks?.stats;
    if (stats == null || columns == null) throw new Error('There are no statistics.');
    const start = Date.parse(columns.start ?? '');
    expect(columns).toMatchObject({
      step_seconds: stats.step_seconds,
      states: stats.states,
      markers: stats.markers,
      totals: { since: stats.totals.since, succeeded: stats.totals.succeeded, failed: stats.totals.failed },
    });
    expect(columns.series.offset.map((offset) => new Date(start + offset * 1_000).toISOString())).toEqual(
      stats.series.map(({ t }) => t),
    );
    for (const figure of ['received', 'succeeded', 'failed', 'retried'] as const) {
      expect(columns.series[figure]).toEqual(stats.series.map((step) => step[figure]));
    }
    expect(columns.names).toMatchObject({
      name: stats.names.map(({ name }) => name),
      count: stats.names.map(({ count }) => count),
      runtime_p95: [0.6667, 0.6667],
    });
    expect(columns.causes?.activity).toEqual(stats.causes?.map(({ activity }) => activity));
    expect(columns.causes?.exception).toEqual(stats.causes?.map(({ exception }) => exception));
    expect(workers?.workers).toEqual([{ source: 'shop', total: 2, online: 2, concurrency: 6, active: 3 }]);
    expect(checks?.checks?.workers).toMatchObject({ ok: true, error: null });
  });

  it('adds what the previous window had of the same names and causes, and null where that is unknown', async () => {
    const { get } = await open({ sources: createQueue() });
    const earlier = async (window: string) =>
      (await get<ComponentsBody>(`/api/components/?${window}`)).body.tasks?.stats?.before;
    expect(await earlier(WINDOW)).toMatchObject({
      totals: { succeeded: 54, failed: 5 },
      states: { SUCCESS: 54, FAILURE: 5 },
      names: { count: [null, 59], failed: [null, 5], runtime_p95: [null, 0.3333], wait_p95: [null, null] },
      causes: { count: [5] },
    });
    // Nothing is known of what was before.
    expect(await earlier('stats=600')).toBeNull();
  });

  it('counts only what changed since a time, and compares it with the time of the same length before', async () => {
    const { get } = await open({ sources: createQueue() });
    // The last half hour but 30 s, of which `stats` would count a whole number of minutes.
    const since = new Date(END - 30 * MINUTE + MINUTE / 2).toISOString();
    const asked = `stats=30&stats_until=${new Date(END).toISOString()}&since=${since}`;
    const stats = (await get<ComponentsBody>(`/api/components/?${asked}`)).body.tasks?.stats;
    expect(stats?.names).toMatchObject({ name: ['mail', 'pay'], count: [29, 29], failed: [0, 2] });
    expect(stats?.before?.names).toMatchObject({ count: [30, 30], failed: [0, 3] });
    expect((await get<TasksBody>(`/api/tasks/?limit=0&${asked}`)).body.stats?.names).toMatchObject([
      { name: 'mail', count: 29 },
      { name: 'pay', count: 29 },
    ]);
  });

  it('has the last depth of a queue that is no longer recorded, and the step of its age', async () => {
    let time = END - 40 * MINUTE;
    const queue = memorySources({ name: 'shop', now: () => time });
    queue.record({ id: 'a', name: 'mail', queue: 'mail', state: 'SUCCESS', timestamp: time });
    queue.recordQueue({ queue: 'mail', waiting: 7, oldestDueAt: new Date(time - 5 * MINUTE) });
    time = END;
    const { get } = await open({ sources: queue });
    const stats = (await get<ComponentsBody>(`/api/components/?${WINDOW}`)).body.tasks?.stats;
    const step = stats?.queue_depths?.oldest_step[0] ?? -1;
    const begun = Date.parse(stats?.start ?? '') + (stats?.series.offset[step] ?? 0) * 1_000;
    expect(stats?.queue_depths).toMatchObject({ queue: ['mail'], waiting: [7], oldest_seconds: [300] });
    expect(END - 40 * MINUTE - begun).toBeGreaterThanOrEqual(0);
    expect(END - 40 * MINUTE - begun).toBeLessThan((stats?.step_seconds ?? 0) * 1_000);
  });

  it('has every source with its state, and the figures of those that the request names', async () => {
    const [east, west] = [createQueue('east'), createQueue('west')];
    let fails = false;
    const workers = {
      ...west.workers,
      listWorkers: (...asked: Parameters<typeof west.workers.listWorkers>) => {
        if (fails) throw new Error('down');
        return west.workers.listWorkers(...asked);
      },
    };
    const { get } = await open({ sources: combineSources(east, { ...west, workers }) });
    const read = async (query = '') => (await get<ComponentsBody>(`/api/components/?${WINDOW}${query}`)).body;
    const both = await read();
    expect(both.tasks?.stats?.names.count).toEqual([120, 120]);
    expect(both.workers?.workers?.map(({ source }) => source)).toEqual(['east', 'west']);
    expect((await read('&source=west')).tasks?.stats?.names.count).toEqual([60, 60]);
    fails = true;
    west.recordWorker({ hostname: 'w3@west', interval: 3_600 });
    const { workers: listed, tasks } = await read();
    expect([listed?.status, tasks?.status]).toEqual(['unknown', 'up']);
    expect(listed?.sources?.map(({ name, ok }) => [name, ok])).toEqual([
      ['east', true],
      ['west', false],
    ]);
  });

  it('says in place of one of them what its own route answers', async () => {
    const { sources } = createShop();
    const broken = {
      ...sources,
      tasks: {
        ...sources.tasks,
        getTaskStats: () => {
          throw new Error('down');
        },
      },
    };
    const { workers: _, ...some } = broken;
    const { get } = await open({
      sources: some,
      authorize: (_request, route) => route !== 'healthcheck' || { status: 403, detail: 'Not for you.' },
    });
    const { status, body } = await get<ComponentsBody>('/api/components/?stats=60');
    const tasks = (await get<ProblemBody>('/api/tasks/?limit=0&stats=60')).body;
    const workers = (await get<ProblemBody>('/api/workers/')).body;
    const checks = (await get<ProblemBody>('/healthcheck')).body;
    expect([status, body.web?.status, body['shop.broker']?.status]).toEqual([200, 'up', 'up']);
    expect(body.tasks).toMatchObject({ status: 'unknown', problem: tasks });
    expect(body.workers).toMatchObject({ status: 'disabled', problem: workers });
    expect(body.checks).toMatchObject({ status: 'unknown', problem: checks });
    expect([tasks.status, workers.status, checks.detail]).toEqual([503, 501, 'Not for you.']);
  });

  it('is not there without it, tells of checks only what the client may know, and null without statistics', async () => {
    const { tasks } = memorySources();
    const { getTaskStats: _, ...listing } = tasks;
    const health = { name: 'shop', checkBroker: () => ({ ok: false, error: 'It is full.' }) };
    const { get } = await open({ sources: { tasks: listing, health }, health: { details: () => false } });
    const { body } = await get<ComponentsBody>('/api/components/?stats=5');
    expect(body.checks).toMatchObject({
      status: 'down',
      checks: { broker: { ok: false, error: null, latency_ms: null }, workers: { ok: null } },
    });
    expect(body.tasks).toMatchObject({ status: 'up', stats: null });
    const plain = (await get<ComponentsBody>('/api/components/')).body;
    expect([plain.checks, plain.workers, plain.tasks]).toEqual([undefined, undefined, undefined]);
    const wrong = [
      'stats_until=2026-01-01',
      'since=2026-01-01',
      'source=shop',
      'stats=0',
      'stats=1441&since=2026-01-01',
    ];
    for (const query of wrong) {
      expect([query, (await get(`/api/components/?${query}`)).status]).toEqual([query, 400]);
    }
  });

  it('is compressed for clients that take it, and a 304 until a figure has changed', async () => {
    const queue = createQueue();
    const { get, base } = await open({ sources: queue });
    const path = '/api/components/?stats=60';
    const { headers, text } = await get(path);
    const packed = await get(path, { headers: { 'accept-encoding': 'gzip' }, ours: false });
    expect([headers['content-encoding'], packed.headers['content-encoding']]).toEqual([undefined, 'gzip']);
    expect([headers.vary, packed.headers.vary]).toEqual(['Accept-Encoding', 'Accept-Encoding']);
    expect(Object.keys(JSON.parse(gunzipSync(packed.bytes).toString()))).toEqual(
      Object.keys(JSON.parse(text)),
    );
    const known = { 'if-none-match': String(packed.headers.etag) };
    const { status, headers: unchanged } = await get(path, { headers: known });
    expect([status, unchanged['content-encoding']]).toEqual([304, undefined]);
    const { tasks: before } = await createMonitorClient(base).components({ stats: 60 });
    queue.recordWorker({ hostname: 'w3@shop', interval: 3_600 });
    expect((await get(path, { headers: known })).status).toBe(200);
    expect(before?.stats?.names.name).toEqual(['mail', 'pay']);
  });
});
