/** Histories in PostgreSQL of a real Celery: three instances that each listen, restarts, and a kill under load. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import { postgresStore } from '../../src/postgres.ts';
import type { ComponentsBody, TasksBody } from '../../src/wire.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { type MonitorProcess, startMonitor } from '../helpers/monitor-process.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { startFieldsWorkers } from './fields-lab.ts';
import { allTasksOf, differencesOf, type Truth } from './fields-truth.ts';
import { differencesBetween, settledAnswers } from './settled-answers.ts';

const missing = redisMissing ?? celeryMissing ?? postgresMissing;

/** How much of what only a monitor has heard is lost when it is killed, at most. */
const LOST_MS = 1_000;
/** At different moments between two writes. */
const KILLS = 3;

describe.skipIf(missing !== null)(titleUnless(missing, 'a Celery with its history in PostgreSQL'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-store-'));
  const pools: pg.Pool[] = [];
  let redis: RedisServer;
  let postgres: PostgresServer;
  let app: CeleryApp;
  let settings: CelerySettings;

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  }, 60_000);

  afterAll(async () => {
    await app?.close();
    await redis?.close();
    await Promise.all(pools.map((pool) => pool.end()));
    await postgres?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  function poolOf(database: string): pg.Pool {
    const pool = new pg.Pool({ connectionString: database, max: 4 });
    pool.on('error', () => {});
    pools.push(pool);
    return pool;
  }

  function open(database: string): CelerySources {
    return celerySources({ settings, store: postgresStore(poolOf(database)) });
  }

  /** An instance that only answers, with a role that may only read. */
  async function openReader(): Promise<CelerySources> {
    await postgres.createRole('reader');
    await postgres.query('GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader', [], 'fields');
    const pool = poolOf(postgres.url('fields', 'reader'));
    return celerySources({ settings, collect: false, store: postgresStore(pool, { readOnly: true }) });
  }

  it('three instances are right, equal, and one that restarts after the work is as before', async () => {
    const log = join(folder, 'attempts.jsonl');
    writeFileSync(log, '');
    const database = await postgres.createDatabase('fields');
    settings = {
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      task_send_sent_event: true,
      result_extended: false,
      task_track_started: true,
      worker_hijack_root_logger: false,
      worker_prefetch_multiplier: 1,
    };
    app = celeryApp({ ...settings, attempt_log: log } as CelerySettings, 'fields');
    const instances = [open(database), open(database), open(database)];
    for (const sources of instances) await until(() => sources.tasks.status?.().ok === true);
    const doomed = await startFieldsWorkers(app);
    const ended = app.script('fields_submit.py', log) as Promise<Truth[]>;
    await until(async () => (await allTasksOf(instances[0] as CelerySources)).size > 100, 60_000);
    // Each attempt has a line when it begins and one when it ends.
    await until(() => readFileSync(log, 'utf8').split('\n').length > 120, 60_000);
    await doomed.kill();
    const truths = await ended;
    const wrong = async (sources: CelerySources) =>
      differencesOf(truths, await allTasksOf(sources), { sent: true });
    const isRight = async (sources: CelerySources) => (await wrong(sources)).length === 0;
    for (const sources of instances) {
      await until(() => isRight(sources), 60_000).catch(() => {});
      expect(await wrong(sources)).toEqual([]);
    }
    const ids = truths.map(({ id }) => id);
    const windowEnd = new Date();
    const answersOf = (sources: CelerySources) => settledAnswers(sources, ids, windowEnd);
    const ofFirst = () => answersOf(instances[0] as CelerySources);
    const expectSame = async (sources: CelerySources, who: string, reference = ofFirst): Promise<void> => {
      const differences = async () => differencesBetween(await reference(), await answersOf(sources));
      // Counts are written and read every 10 s.
      const same = expect.poll(async () => [who, await differences()], { timeout: 45_000, interval: 2_000 });
      await same.toEqual([who, []]);
    };
    for (const [at, sources] of instances.entries()) await expectSame(sources, `instance ${at}`);
    const reader = await openReader();
    await expectSame(reader, 'the one that only answers');
    await reader.close();
    await instances[1]?.close();
    instances[1] = open(database);
    await until(() => isRight(instances[1] as CelerySources), 30_000).catch(() => {});
    expect(await wrong(instances[1] as CelerySources)).toEqual([]);
    for (const [at, sources] of instances.entries())
      await expectSame(sources, `instance ${at}, after a restart`);
    const before = await ofFirst();
    await Promise.all(instances.map((sources) => sources.close()));
    const alone = open(database);
    await until(() => isRight(alone), 30_000).catch(() => {});
    expect(await wrong(alone)).toEqual([]);
    await expectSame(alone, 'one alone, after a restart', async () => before);
    await alone.close();
  }, 400_000);

  it('a monitor that is killed under load loses at most what it heard in the last second', async () => {
    const database = await postgres.createDatabase('killed');
    const url = redis.url(3);
    const own = { broker_url: url, result_backend: url };
    const steady = celeryApp({
      ...own,
      task_send_sent_event: true,
      worker_hijack_root_logger: false,
    } as never);
    const options = { database, collect: true, settings: own } as const;
    let monitor: MonitorProcess = await startMonitor(options);
    try {
      await steady.worker('-n', 'w1@alpha', '-P', 'threads', '-c', '4');
      const submitted = steady.script('steady_submit.py', '75', '26') as Promise<
        { readonly id: string; readonly state: string }[]
      >;
      const known = new Map<string, Body>();
      for (let kill = 0; kill < KILLS; kill++) {
        await new Promise((resolve) => setTimeout(resolve, 5_000));
        const heard = await everyTask(monitor);
        // All of these were heard before this moment. What more is heard of some meanwhile may be lost.
        await new Promise((resolve) => setTimeout(resolve, LOST_MS));
        // On a busy machine, the monitor may be behind, and says so.
        await until(async () => (await delayOf(monitor)) === 0);
        const now = await everyTask(monitor);
        for (const [id, task] of heard) {
          if (JSON.stringify(now.get(id)) === JSON.stringify(task)) known.set(id, task);
        }
        await monitor.kill();
        monitor = await startMonitor(options);
      }
      const truth = await submitted;
      const wrong = async () => {
        const tasks = await everyTask(monitor);
        return truth.filter(({ id, state }) => tasks.get(id)?.state !== state);
      };
      await until(async () => (await wrong()).length === 0, 30_000).catch(() => {});
      expect(await wrong()).toEqual([]);
      const after = await everyTask(monitor);
      const lost = [...known].filter(([id, task]) => factsOf(task, task) !== factsOf(after.get(id), task));
      expect(lost.map(([id, task]) => [task, after.get(id)])).toEqual([]);
      const ended = [...known.values()].filter(({ done }) => done).length;
      expect(ended).toBeGreaterThan(500);
      const nameless = truth.filter(({ id }) => after.get(id)?.name == null).length;
      console.log({ tasks: truth.length, known: known.size, ended, nameless });
    } finally {
      await monitor.stop();
      await steady.close();
    }
  }, 180_000);
});

/** Seconds for which the oldest change has waited to be written, rounded down. */
async function delayOf(monitor: MonitorProcess): Promise<unknown> {
  const body = await monitor.get<ComponentsBody>('/api/components/');
  const store = body?.['celery.history.store'];
  return (store?.config as { readonly delay_seconds?: unknown } | null | undefined)?.delay_seconds;
}

/** What a task had told before: all of it if it had ended, else what does not change any more. */
function factsOf(task: Body | undefined, before: Body): string {
  if (task === undefined || before.done) return JSON.stringify(task ?? null);
  const { name, args, kwargs, queue, sent } = before;
  const has = (value: unknown, now: unknown): unknown => (value === null ? null : now);
  return JSON.stringify([
    ...[has(name, task.name), has(args, task.args), has(kwargs, task.kwargs)],
    // A retry is sent anew.
    ...[has(queue, task.queue), has(sent, task.sent !== null)],
  ]);
}

type Body = TasksBody['tasks'][number];

async function everyTask(monitor: MonitorProcess): Promise<Map<string, Body>> {
  const tasks = new Map<string, Body>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: TasksBody | null = await monitor.get<TasksBody>(`/api/tasks/?limit=1000${after}`);
    if (page === null) return tasks;
    for (const task of page.tasks) tasks.set(task.task_id, task);
    cursor = page.next_cursor;
  }
  return tasks;
}
