import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ComponentsBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';
import { at, createShop } from '../router/shop-sources.ts';

describe('/api/components/', () => {
  it('lists the six of the library, whatever is configured', async () => {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(manifest);
    const { get } = await serve(EXPRESS, {});
    const { body } = await get<ComponentsBody>('/api/components/');
    expect(Object.keys(body)).toEqual(['web', 'metrics', 'beat', 'history', 'queues', 'findings']);
    expect(body.web).toMatchObject({
      enabled: true,
      status: 'up',
      pid: process.pid,
      url: '/monitor',
      config: { version },
    });
    for (const key of ['metrics', 'beat', 'history', 'queues']) {
      expect(body[key]).toMatchObject({ enabled: false, status: 'disabled' });
    }
  });

  it('adds those of a source under its name', async () => {
    const { get } = await serve(EXPRESS, { sources: createShop().sources });
    const { body, text } = await get<ComponentsBody>('/api/components/');
    expect(body['shop.broker']).toMatchObject({
      name: 'Redis',
      status: 'up',
      url: 'redis://db:6379/0',
    });
    expect(text).not.toContain('hunter2');
    expect(body.beat).toMatchObject({ enabled: true, status: 'unknown' });
  });

  it('are made a few times only for very many who ask at once', async () => {
    let reads = 0;
    const listComponents = () => {
      reads += 1;
      return [];
    };
    const { get } = await serve(EXPRESS, { sources: { components: { name: 'shop', listComponents } } });
    const ask = (): Promise<unknown> => get<ComponentsBody>('/api/components/');
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    // In steps, so that they do not all share one read that is under way; all within the same tenth of a second.
    for (let step = 0; step < 8; step += 1) await Promise.all(Array.from({ length: 64 }, ask));
    // Three are answered anew. Each reads the components for itself, and at most once more for the findings.
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThanOrEqual(2 * 3);
    const before = reads;
    vi.advanceTimersByTime(100);
    await ask();
    expect(reads).toBeGreaterThan(before);
  });

  it('share what they read with the findings', async () => {
    const listQueues = vi.fn(async () => []);
    const listComponents = vi.fn(async () => []);
    const listSchedules = vi.fn(async () => []);
    const sources = {
      queues: { name: 'shop', listQueues },
      components: { name: 'shop', listComponents },
      schedules: { name: 'shop', listSchedules },
    };
    const { get } = await serve(EXPRESS, { sources });
    const { body } = await get<ComponentsBody>('/api/components/');
    const codes = body.findings?.rules?.map(({ code }) => code);
    expect([body.beat?.enabled, body.queues?.status]).toEqual([true, 'up']);
    expect(codes).toEqual(expect.arrayContaining(['queue_waiting', 'schedule_missed']));
    for (const read of [listQueues, listComponents, listSchedules]) expect(read).toHaveBeenCalledTimes(1);
  });

  it('and the list of schedules are disabled when a source uses no beat', async () => {
    const schedules = { name: 'shop', listSchedules: () => null };
    const { get } = await serve(EXPRESS, { sources: { schedules } });
    expect((await get<ComponentsBody>('/api/components/')).body.beat).toMatchObject({
      enabled: false,
      status: 'disabled',
    });
    expect((await get('/api/beat/schedules/')).body).toEqual({ enabled: false, schedules: [], sources: [] });
  });

  it('tells what the history holds', async () => {
    const shop = createShop();
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const config = {
      tasks: 25,
      since: '2026-11-21T02:00:00.000Z',
      evicted: 0,
      bytes: 1_000,
      events_received: 100,
      dropped: 0,
      lag_seconds: 0.25,
      unreadable: 0,
    };
    expect((await get<ComponentsBody>('/api/components/')).body.history).toMatchObject({
      status: 'up',
      config,
    });
    shop.status = { ok: false, asOf: at(0) };
    expect((await get<ComponentsBody>('/api/components/')).body.history).toMatchObject({
      status: 'down',
      config,
    });
  });

  it('shows the exporter without user, password and query, and whether it answers', async () => {
    const { get } = await serve(EXPRESS, { exporter: 'http://user:hunter2@127.0.0.1:9/metrics?a=hunter2' });
    // Nobody waits for it for longer than a second.
    await until(
      async () => (await get<ComponentsBody>('/api/components/')).body.metrics?.status !== 'unknown',
    );
    const { body, text } = await get<ComponentsBody>('/api/components/');
    expect(body.metrics).toMatchObject({ enabled: true, status: 'down', url: 'http://127.0.0.1:9/metrics' });
    expect(text).not.toContain('hunter2');
  });

  it('keeps the components of a source that fails, with a status that nobody knows', async () => {
    const { sources } = createShop();
    let fails = false;
    const components = {
      ...sources.components,
      listComponents: (context: { signal: AbortSignal }) => {
        if (fails) throw new Error('down');
        return sources.components.listComponents(context);
      },
    };
    const { get } = await serve(EXPRESS, { sources: { components } });
    expect((await get<ComponentsBody>('/api/components/')).body['shop.broker']?.status).toBe('up');
    fails = true;
    const { status, body } = await get<ComponentsBody>('/api/components/');
    expect(status).toBe(200);
    expect(body['shop.broker']).toMatchObject({ name: 'Redis', status: 'unknown' });
    expect(body['shop.source']).toMatchObject({ status: 'down', config: { error: 'source_unavailable' } });
  });

  it('lists queues with how long their oldest due message has waited, whatever the clock says of the ETag', async () => {
    const queue = { waiting: 3, reserved: 1, consumers: 2, oldestDueAt: null, asOf: null };
    const states = { engineStates: { waiting: 2, 'waiting-children': 4, active: -0.5 }, isPaused: false };
    let asOf = at(0);
    const queues = {
      name: 'shop',
      listQueues: () => [
        { ...queue, ...states, name: 'mail', oldestDueAt: new Date(Date.now() - 65_000), asOf },
        { ...queue, name: '', waiting: 1 },
        { ...queue, name: 'default', reserved: null, waiting: null, consumers: Number.NaN },
      ],
    };
    const { get } = await serve(EXPRESS, { sources: { queues } });
    const first = await get<ComponentsBody>('/api/components/');
    const answers = { blocked_by: expect.objectContaining({ code: 'unknown' }), drain: expect.any(Object) };
    const unknown = { engine_states: null, paused: null, as_of: null, ...answers };
    const empty = { ...unknown, reserved: null, oldest_due_seconds: null, source: 'shop' };
    expect(first.body.queues).toEqual({
      name: 'queues',
      enabled: true,
      status: 'up',
      pid: null,
      url: null,
      config: null,
      queues: [
        { ...empty, name: 'default', waiting: null, consumers: null },
        {
          name: 'mail',
          waiting: 3,
          reserved: 1,
          consumers: 2,
          oldest_due_seconds: expect.toSatisfy((seconds: number) => seconds >= 65),
          engine_states: { waiting: 2, 'waiting-children': 4 },
          paused: false,
          ...answers,
          as_of: at(0).toISOString(),
          source: 'shop',
        },
      ],
    });
    expect(first.body.history?.config).toEqual({ unreadable: 0 });
    const { etag } = (await get('/api/components/')).headers;
    asOf = at(1);
    const later = await get<ComponentsBody>('/api/components/');
    expect(later.body.queues?.queues?.[1]?.as_of).toBe(at(1).toISOString());
    // What was left out is counted, and nothing else has changed.
    expect(later.body.history?.config).toEqual({ unreadable: 2 });
    expect(later.headers.etag).not.toBe(etag);
  });

  it('keeps the queues of a source that is away, marked as down', async () => {
    let fails = false;
    const depth = { name: 'mail', waiting: 3, consumers: 2, oldestDueAt: null, asOf: at(0) };
    const queues = {
      name: 'shop',
      listQueues: () => {
        if (fails) throw new Error('down');
        return [depth];
      },
    };
    const { get } = await serve(EXPRESS, { sources: { queues } });
    const before = (await get<ComponentsBody>('/api/components/')).body.queues;
    fails = true;
    expect((await get<ComponentsBody>('/api/components/')).body.queues).toEqual({
      ...before,
      // What held for the last figures may not hold any more.
      queues: before?.queues?.map((queue) => ({
        ...queue,
        blocked_by: expect.objectContaining({ code: 'unknown' }),
        drain: expect.objectContaining({ reason: 'The number of waiting tasks is unknown.' }),
      })),
      status: 'down',
      config: { error: 'source_unavailable' },
    });
  });

  it('takes a key of any name for a name', async () => {
    const shop = createShop();
    const broken = { name: 'a', enabled: true, status: 'up' } as const;
    shop.components = [
      { ...broken, key: '__proto__' },
      { ...broken, key: 'constructor' },
      { ...broken, key: 5 as never },
    ];
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const { body } = await get<ComponentsBody>('/api/components/');
    expect(Object.keys(body).slice(6)).toEqual(['shop.__proto__', 'shop.constructor']);
  });
});
