import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
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
  let sources: CelerySources;
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
    sources = celerySources({ settings, control: false });
    await until(() => sources.tasks.status?.().ok === true);
    await sources.schedules.listSchedules(context);
    beat = await app.process('beat: Starting', 'beat', '--loglevel', 'INFO', '-s', join(folder, 'schedule'));
  }, 60_000);

  afterAll(async () => {
    await sources?.close();
    await app?.close();
    await redis?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function lastRun(name: string): Promise<Date | null> {
    const list = await sources.schedules.listSchedules(context);
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
          .some((sent) => Math.abs(sent - last) < 400);
      });
    }
    expect(await lastRun('never')).toBe(null);
    const list = await sources.schedules.listSchedules(context);
    expect(list).toMatchObject([
      { id: 'fast', task: 'shop.add', schedule: 'every 1 s', args: '(1, 2)', timezone: 'Europe/Prague' },
      { id: 'never', schedule: 'every 1 h', nextRunAt: null, totalRunCount: null },
      { id: 'slow', schedule: 'every 2 s', queue: 'other', enabled: true },
    ]);
    const fast = list?.[0];
    expect((fast?.nextRunAt?.getTime() ?? 0) - (fast?.lastRunAt?.getTime() ?? 0)).toBe(1000);
    expect(await componentOf(sources, 'beat')).toMatchObject({
      status: 'up',
      config: { scheduler: 'static', entries: 3 },
    });
  }, 90_000);

  it('is known from its workers, too', async () => {
    const told = celerySources({ broker: redis.url() });
    try {
      await app.plainWorker('--pool', 'solo', '-n', 'conf@here', '-Q', 'nothing');
      await until(async () => ((await told.schedules.listSchedules(context))?.length ?? 0) > 0);
      expect(await told.schedules.listSchedules(context)).toMatchObject([
        { id: 'fast', schedule: 'every 1 s', args: '(1, 2)', timezone: 'Europe/Prague' },
        { id: 'never', schedule: 'every 1 h' },
        { id: 'slow', schedule: 'every 2 s', queue: 'other', enabled: true },
      ]);
    } finally {
      await told.close();
    }
  }, 60_000);

  it('is not taken for alive when it has ended', async () => {
    await beat.kill();
    await until(async () => (await componentOf(sources, 'beat')).status === 'unknown');
    expect(await componentOf(sources, 'beat')).toMatchObject({ status: 'unknown' });
  });
});
