import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { Schedule } from '../../src/model.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { type DjangoProject, djangoBeatMissing, runDjango } from '../helpers/django-beat.ts';
import { sqliteMissing } from '../helpers/other-node.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { openSqlite, type SqliteQuery } from '../helpers/sqlite-query.ts';

const missing = redisMissing ?? celeryMissing ?? djangoBeatMissing ?? sqliteMissing;

/** What Django itself reads of the entries that have run: how often, and the last time in seconds since 1970. */
const STORED =
  'result = {task.name: [task.total_run_count, task.last_run_at.timestamp()]' +
  ' for task in PeriodicTask.objects.all() if task.last_run_at}';

describe.skipIf(missing !== null)(titleUnless(missing, 'a running beat of django-celery-beat'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-beat-'));
  let redis: RedisServer;
  let client: SqliteQuery;
  let app: CeleryApp;
  let beat: CeleryWorker;
  let project: DjangoProject;
  let sources: CelerySources;

  beforeAll(async () => {
    redis = await startRedis();
    const file = join(folder, 'shop.db');
    project = {
      database: { ENGINE: 'django.db.backends.sqlite3', NAME: file },
      celery: { broker_url: redis.url(), task_send_sent_event: true },
    };
    await runDjango(project, 'migrate');
    client = openSqlite(file);
    sources = celerySources({ broker: redis.url(), sql: { dialect: 'sqlite', query: client.query } });
    await until(() => sources.tasks.status?.().ok === true);
    vi.stubEnv('DJANGO_CONFIG', JSON.stringify(project));
    app = celeryApp({}, 'django_beat');
    await runDjango(project, 'soon');
    const scheduler = 'django_celery_beat.schedulers:DatabaseScheduler';
    beat = await app.process('beat: Starting', 'beat', '--loglevel', 'INFO', '-S', scheduler, '--pidfile=');
  }, 60_000);

  afterAll(async () => {
    vi.unstubAllEnvs();
    await sources?.close();
    await app?.close();
    client?.close();
    await redis?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function entry(name: string): Promise<Schedule | undefined> {
    return (await sources.schedules.listSchedules(context))?.find((schedule) => schedule.name === name);
  }

  /** When beat says that it sent the tasks of an entry, in milliseconds since 1970. */
  function sentBy(name: string): number[] {
    const lines = beat
      .output()
      .matchAll(/\[([\d-]+) ([\d:]+),(\d+): INFO\S* Scheduler: Sending due task ([\w ]+) \(/g);
    return [...lines].flatMap(([, day, time, ms, sent]) =>
      sent === name ? [new Date(`${day}T${time}.${ms}`).getTime()] : [],
    );
  }

  it('is seen at work: each entry ran when beat says so, and runs next when its scheduler decides', async () => {
    await until(() => sentBy('fast').length >= 6 && sentBy('slow').length >= 4, 40_000);
    for (const [name, every] of [
      ['fast', 1_000],
      ['slow', 2_000],
    ] as const) {
      await until(async () => {
        const { lastRunAt, nextRunAt } = (await entry(name)) ?? {};
        const last = lastRunAt?.getTime() ?? Number.NaN;
        expect(nextRunAt?.getTime() ?? Number.NaN).toBe(last + every);
        return sentBy(name).some((sent) => Math.abs(sent - last) < 200) && last > Date.now() - 5_000;
      });
    }
    expect(await entry('later')).toMatchObject({
      lastRunAt: null,
      totalRunCount: 0,
      nextRunAt: expect.any(Date),
    });
    expect(await componentOf(sources, 'beat')).toMatchObject({
      status: 'up',
      config: { scheduler: 'django', entries: 8, hints: [] },
    });
  }, 90_000);

  it('tells by its messages which of two alike entries a task is a run of', async () => {
    await until(() => sentBy('twin 2').length >= 3, 40_000);
    for (const name of ['twin 1', 'twin 2']) {
      await until(async () => ((await entry(name))?.lastRuns?.length ?? 0) >= 3);
      const runs = (await entry(name))?.lastRuns ?? [];
      const far = runs.filter(({ at }) => !sentBy(name).some((sent) => Math.abs(sent - at.getTime()) < 200));
      expect(far).toEqual([]);
      expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['PENDING']));
    }
  });

  it('has stored all of it when it ends', async () => {
    await until(() => sentBy('clocked').length > 0, 30_000);
    await beat.stop();
    const stored = await runDjango(project, 'run', STORED);
    for (const name of ['fast', 'slow']) {
      const [runs, last] = Reflect.get(Object(stored), name);
      // Beat's log has no count to compare with: when beat reads its entries anew, it forgets runs that it has not
      // stored, and may repeat one. The monitor has seen each run by its event.
      await until(async () => {
        const found = await entry(name);
        const seen = Number(found?.lastRunAt);
        const isLogged = sentBy(name).some((sent) => Math.abs(sent - seen) < 1_000);
        return found?.totalRunCount === runs && isLogged && seen > 1_000 * last - 1_000;
      });
    }
    // They will not run again: beat disables them and resets what it has counted.
    expect(Math.min(sentBy('once').length, sentBy('clocked').length)).toBeGreaterThan(0);
    for (const name of ['once', 'clocked']) expect(await entry(name)).toMatchObject({ nextRunAt: null });
  }, 120_000);
});
