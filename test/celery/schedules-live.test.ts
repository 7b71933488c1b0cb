import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { decodeEnvelope } from '../../src/sources/celery/brokers/redis/envelope.ts';
import { createRedisMailbox } from '../../src/sources/celery/brokers/redis/mailbox.ts';
import { createControl } from '../../src/sources/celery/control/control.ts';
import { type CeleryEvent, taskChangeOf } from '../../src/sources/celery/protocol/events.ts';
import { createSchedules, type Schedules } from '../../src/sources/celery/schedules/schedules.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const missing = redisMissing ?? celeryMissing;

const ENTRIES = {
  fast: { task: 'shop.add', schedule: 1.0, args: [1, 2] },
  slow: { task: 'shop.add', schedule: 2.0, args: [3, 4.0], options: { queue: 'other' } },
  never: { task: 'shop.add', schedule: 3600.0, args: [5, 6] },
};

describe.skipIf(missing !== null)(titleUnless(missing, 'a running beat with a static schedule'), () => {
  let redis: RedisServer;
  let app: CeleryApp;
  let beat: CeleryWorker;
  let schedules: Schedules;
  let events: ReturnType<typeof createClient>;
  const folder = mkdtempSync(join(tmpdir(), 'monitor-beat-'));

  beforeAll(async () => {
    redis = await startRedis();
    const settings = {
      broker_url: redis.url(),
      result_backend: redis.url(1),
      timezone: 'Europe/Prague',
      task_send_sent_event: true,
      beat_schedule: ENTRIES,
    };
    app = celeryApp(settings);
    schedules = createSchedules({
      name: 'celery',
      settings,
      redbeat: { reader: null, unreadable: null },
      django: null,
      conf: async () => null,
    });
    events = createClient({ url: redis.url() });
    await events.connect();
    await events.pSubscribe('/0.celeryev/*', (message) => {
      const body = decodeEnvelope(message);
      for (const event of (Array.isArray(body) ? body : [body]) as CeleryEvent[]) {
        const change = taskChangeOf(event);
        if (change !== null) schedules.observe(change);
      }
    });
    beat = await app.process('beat: Starting', 'beat', '--loglevel', 'INFO', '-s', join(folder, 'schedule'));
  }, 60_000);

  afterAll(async () => {
    events?.destroy();
    schedules?.close();
    await app?.close();
    await redis?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function lastRun(name: string): Promise<Date | null> {
    const list = await schedules.source.listSchedules(context);
    return list?.find((schedule) => schedule.id === name)?.lastRunAt ?? null;
  }

  /** When beat says that it sent the tasks of an entry, in milliseconds since 1970. */
  function sentBy(name: string): number[] {
    const lines = beat
      .output()
      .matchAll(/\[([\d-]+) ([\d:]+),(\d+): INFO\S* Scheduler: Sending due task (\w+) /g);
    return [...lines].flatMap(([, day, time, ms, entry]) =>
      entry === name ? [new Date(`${day}T${time}.${ms}`).getTime()] : [],
    );
  }

  it('is seen at work: each entry ran when beat says so', async () => {
    await until(() => sentBy('fast').length >= 5 && sentBy('slow').length >= 3, 30_000);
    for (const name of ['fast', 'slow']) {
      const count = sentBy(name).length;
      let last = Number.NaN;
      await until(async () => {
        last = (await lastRun(name))?.getTime() ?? Number.NaN;
        return sentBy(name)
          .slice(count - 1)
          .some((sent) => Math.abs(sent - last) < 200);
      });
    }
    expect(await lastRun('never')).toBe(null);
    const list = await schedules.source.listSchedules(context);
    expect(list).toMatchObject([
      { id: 'fast', task: 'shop.add', schedule: 'every 1 s', args: '(1, 2)', timezone: 'Europe/Prague' },
      { id: 'never', schedule: 'every 1 h', nextRunAt: null, totalRunCount: null },
      { id: 'slow', schedule: 'every 2 s', queue: 'other', enabled: true },
    ]);
    const fast = list?.[0];
    expect((fast?.nextRunAt?.getTime() ?? 0) - (fast?.lastRunAt?.getTime() ?? 0)).toBe(1000);
    expect(await schedules.component()).toMatchObject({
      status: 'up',
      config: { scheduler: 'static', entries: 3 },
    });
  }, 90_000);

  it('is known from its workers, too', async () => {
    const endpoint = brokerEndpoint(redis.url(), {});
    const control = createControl({ mailbox: createRedisMailbox(endpoint, {}), known: () => ['conf@here'] });
    const conf = async () => (await control.ask('conf'))?.values ?? null;
    const told = createSchedules({
      name: 'celery',
      settings: {},
      redbeat: { reader: null, unreadable: null },
      django: null,
      conf,
    });
    try {
      await app.plainWorker('--pool', 'solo', '-n', 'conf@here', '-Q', 'nothing');
      await until(async () => ((await conf())?.size ?? 0) > 0);
      await told.refresh();
      expect(await told.source.listSchedules(context)).toMatchObject([
        { id: 'fast', schedule: 'every 1 s', args: '(1, 2)', timezone: 'Europe/Prague', lastRunAt: null },
        { id: 'never', schedule: 'every 1 h' },
        { id: 'slow', schedule: 'every 2 s', queue: 'other', enabled: true },
      ]);
    } finally {
      told.close();
      await control.close();
    }
  }, 60_000);

  it('is not taken for alive when it has ended', async () => {
    await beat.kill();
    await until(async () => (await schedules.component()).status === 'unknown');
    expect(await schedules.component()).toMatchObject({ enabled: true, status: 'unknown' });
  });
});
