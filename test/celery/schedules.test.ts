import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import type { RedisReader } from '../../src/redis/reader.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createRedbeatReader } from '../../src/sources/celery/brokers/redis/redbeat-reader.ts';
import { redbeatKeys } from '../../src/sources/celery/schedules/redbeat-settings.ts';
import { createSchedules, type Schedules } from '../../src/sources/celery/schedules/schedules.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const NOBODY = async () => null;

function said(replies: Record<string, unknown>) {
  return async () => new Map(Object.entries(replies));
}

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'schedules'), () => {
  let redis: RedisServer;
  let reader: RedisReader;
  let writer: ReturnType<typeof createClient>;
  let open: Schedules[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    writer = createClient({ url: redis.url() });
    writer.on('error', () => {});
    await writer.connect();
  });
  beforeEach(async () => {
    await writer.flushAll();
    reader = createRedisReader('redbeat', brokerEndpoint(redis.url(), {}));
  });
  afterEach(async () => {
    for (const schedules of open) schedules.close();
    open = [];
    await reader.close();
  });
  afterAll(async () => {
    writer?.destroy();
    await redis?.close();
  });

  function redbeatOf(settings: CelerySettings, from = reader) {
    return { reader: createRedbeatReader(from, redbeatKeys(settings)), unreadable: null };
  }

  function schedulesOf(
    settings: CelerySettings,
    conf = NOBODY as Parameters<typeof createSchedules>[0]['conf'],
  ) {
    const schedules = createSchedules({
      name: 'celery',
      settings,
      redbeat: redbeatOf(settings),
      django: null,
      conf,
    });
    open.push(schedules);
    return schedules;
  }

  function store(name: string, schedule: object, score: number, more: object = {}): Promise<unknown> {
    const definition = JSON.stringify({ name, task: 'report', schedule, enabled: true, ...more });
    const key = `redbeat:${name}`;
    return Promise.all([
      writer.hSet(key, 'definition', definition),
      writer.zAdd('redbeat::schedule', { value: key, score }),
    ]);
  }

  const INTERVAL = { __type__: 'interval', every: 30, relative: false };

  it('are not there where no beat is used', async () => {
    const schedules = schedulesOf({}, said({ 'a@1': { beat_schedule: {} } }));
    expect(schedules.enabled()).toBe(null);
    expect(await schedules.source.listSchedules(context)).toBe(null);
    expect(schedules.enabled()).toBe(false);
    expect(await schedules.component()).toMatchObject({ key: 'beat', enabled: false, status: 'disabled' });
    expect(schedules.source.status?.()).toMatchObject({ ok: true });
  });

  it('are those of redbeat, and beside them what it does not hold', async () => {
    await store('daily', INTERVAL, 1_800_000_000);
    await writer.set('redbeat::lock', 'x', { PX: 1_450_000 });
    const beat_schedule = {
      daily: { task: 'report', schedule: 60 },
      sun: { task: 'dusk', schedule: '0 7 * * *' },
    };
    const schedules = schedulesOf({ beat_schedule, timezone: 'Asia/Tokyo', redbeat_redis_url: redis.url() });
    expect(await schedules.source.listSchedules(context)).toMatchObject([
      { id: 'redbeat:daily', schedule: 'every 30 s', enabled: true, timezone: 'Asia/Tokyo' },
      { id: 'sun', enabled: null, nextRunAt: null },
    ]);
    const component = await schedules.component();
    expect(component).toMatchObject({
      status: 'up',
      enabled: true,
      config: { scheduler: 'redbeat', entries: 1, unreadable: 0, timezone: 'Asia/Tokyo', hints: [] },
    });
    expect(component.config?.lock_age_seconds).toBeCloseTo(50, 0);
  });

  it('say that redbeat has stopped: no lock, or one that is not renewed', async () => {
    await store('daily', INTERVAL, 1_800_000_000);
    const settings = { redbeat_lock_timeout: 1500 };
    expect(await schedulesOf(settings).component()).toMatchObject({
      status: 'down',
      config: { lock_age_seconds: null },
    });
    await writer.set('redbeat::lock', 'x', { PX: 1_000_000 });
    expect(await schedulesOf(settings).component()).toMatchObject({ status: 'down' });
    // Nobody says how long the lock holds.
    expect(await schedulesOf({}).component()).toMatchObject({
      status: 'up',
      config: { lock_age_seconds: null, hints: [expect.stringContaining('redbeat_lock_timeout')] },
    });
    await store('late', INTERVAL, Date.now() / 1000 - 1000);
    expect(await schedulesOf({}).component()).toMatchObject({ status: 'unknown' });
    expect(await schedulesOf({ redbeat_lock_key: null }).component()).toMatchObject({ status: 'unknown' });
  });

  it('read in the zone that redbeat writes in, rather than one that is only the default', async () => {
    const moment = { __type__: 'datetime', year: 2026, month: 7, day: 1, timezone: 'Europe/Prague' };
    await store('daily', { minute: 0, hour: 7 }, 1_800_000_000);
    await store('own', { minute: 0, timezone: 'Asia/Tokyo' }, 1_800_000_000);
    await writer.hSet('redbeat:daily', 'meta', JSON.stringify({ last_run_at: moment }));
    expect(await schedulesOf({}).source.listSchedules(context)).toMatchObject([
      { name: 'daily', timezone: 'Europe/Prague' },
      { name: 'own', timezone: 'Asia/Tokyo' },
    ]);
    await writer.hSet(
      'redbeat:daily',
      'meta',
      JSON.stringify({ last_run_at: { ...moment, timezone: 3600 } }),
    );
    expect(await schedulesOf({}).source.listSchedules(context)).toMatchObject([
      { name: 'daily', timezone: null },
      { name: 'own', timezone: 'Asia/Tokyo' },
    ]);
  });

  it('name a scheduler whose database is not read', async () => {
    const beat_scheduler = 'django_celery_beat.schedulers:DatabaseScheduler';
    const schedules = schedulesOf({}, said({ 'a@1': { beat_scheduler } }));
    expect(await schedules.source.listSchedules(context)).toEqual([]);
    expect(await schedules.component()).toMatchObject({
      enabled: true,
      status: 'unknown',
      config: { hints: [expect.stringContaining(beat_scheduler)] },
    });
  });

  it('are read once for all who ask at the same time', async () => {
    await store('daily', INTERVAL, 1_800_000_000);
    const schedules = schedulesOf({});
    await writer.sendCommand(['CONFIG', 'RESETSTAT']);
    await Promise.all(Array.from({ length: 100 }, () => schedules.source.listSchedules(context)));
    const stats = String(await writer.sendCommand(['INFO', 'commandstats']));
    expect(stats).toMatch(/cmdstat_zcard:calls=1,/);
    expect(stats).toMatch(/cmdstat_hmget:calls=1,/);
  });

  it('of the static kind stay where the Redis user may not read those of redbeat', async () => {
    await writer.sendCommand([
      'ACL',
      'SETUSER',
      'mon',
      'reset',
      'on',
      '>pw',
      '+ping',
      '+client',
      '+select',
      '+info',
    ]);
    const limited = createRedisReader(
      'redbeat',
      brokerEndpoint(`redis://mon:pw@127.0.0.1:${redis.port}/0`, {}),
    );
    const limitedTo = (settings: CelerySettings) =>
      createSchedules({
        name: 'celery',
        settings,
        redbeat: redbeatOf(settings, limited),
        django: null,
        conf: NOBODY,
      });
    const plain = limitedTo({});
    expect(await plain.source.listSchedules(context)).toBe(null);
    expect(plain.problem()?.code).toBe('NOPERM');
    expect(plain.source.status?.()).toMatchObject({ ok: true });
    const named = limitedTo({ redbeat_lock_timeout: 60 });
    await expect(named.source.listSchedules(context)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(await named.component()).toMatchObject({ status: 'unknown', enabled: true });
    const beat_schedule = { daily: { task: 'report', schedule: 30 } };
    const fixed = limitedTo({ beat_schedule });
    expect(await fixed.source.listSchedules(context)).toMatchObject([{ id: 'daily', lastRunAt: null }]);
    await limited.close();
  });

  it('stay as they were while Redis is away, and say so', async () => {
    await store('daily', INTERVAL, 1_800_000_000);
    const schedules = schedulesOf({});
    const unread = schedulesOf({});
    expect(await schedules.source.listSchedules(context)).toHaveLength(1);
    await redis.kill();
    await until(async () => {
      expect(await schedules.source.listSchedules(context)).toHaveLength(1);
      return schedules.source.status?.().ok === false;
    });
    expect(schedules.source.status?.()).toMatchObject({
      error: 'source_unavailable',
      asOf: expect.any(Date),
    });
    expect(await schedules.component()).toMatchObject({ status: 'unknown' });
    await expect(unread.source.listSchedules(context)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(unread.enabled()).toBe(null);
    await redis.start();
    await until(async () => {
      await schedules.component();
      return schedules.source.status?.().ok === true;
    });
    expect(await schedules.source.listSchedules(context)).toBe(null);
  });
});
