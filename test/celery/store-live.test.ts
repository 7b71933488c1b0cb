/** Histories in PostgreSQL of a real Celery: three instances that each listen, restarts, and a kill under load. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import { postgresStore } from '../../src/postgres.ts';
import type { TasksBody } from '../../src/wire.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { type MonitorProcess, startMonitor } from '../helpers/monitor-process.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { query } from '../history/telling.ts';
import { allTasksOf, differencesOf, type Truth } from './fields-truth.ts';

const missing = redisMissing ?? celeryMissing ?? postgresMissing;

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

  function open(database: string): CelerySources {
    const pool = new pg.Pool({ connectionString: database, max: 4 });
    pool.on('error', () => {});
    pools.push(pool);
    return celerySources({ settings, store: postgresStore(pool) });
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
    const [, , , doomed] = await Promise.all([
      app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2', '-Q', 'celery'),
      app.worker('-n', 'w2@beta', '-P', 'threads', '-c', '4', '-Q', 'threads'),
      app.worker('-n', 'w3@beta', '-P', 'prefork', '-c', '2', '-Q', 'slow'),
      app.worker('-n', 'w4@gone', '-P', 'prefork', '-c', '4', '-Q', 'doomed'),
    ]);
    const ended = app.script('fields_submit.py', log) as Promise<Truth[]>;
    await until(async () => (await allTasksOf(instances[0] as CelerySources)).size > 100, 60_000);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await doomed.kill();
    const truths = await ended;
    const wrong = async (sources: CelerySources) =>
      differencesOf(truths, await allTasksOf(sources), { sent: true });
    const isRight = async (sources: CelerySources) => (await wrong(sources)).length === 0;
    for (const sources of instances) {
      await until(() => isRight(sources), 60_000).catch(() => {});
      expect(await wrong(sources)).toEqual([]);
    }
    // Whoever writes has written by then.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const before = await answersOf(instances[0] as CelerySources, truths);
    await instances[1]?.close();
    instances[1] = open(database);
    await until(() => isRight(instances[1] as CelerySources), 30_000).catch(() => {});
    expect(await wrong(instances[1] as CelerySources)).toEqual([]);
    for (const sources of instances) {
      await expect.poll(() => answersOf(sources, truths), { timeout: 20_000 }).toEqual(before);
    }
    await Promise.all(instances.map((sources) => sources.close()));
    const alone = open(database);
    await until(() => isRight(alone), 30_000).catch(() => {});
    expect(await wrong(alone)).toEqual([]);
    await expect.poll(() => answersOf(alone, truths), { timeout: 20_000 }).toEqual(before);
    await alone.close();
  }, 240_000);

  it('a monitor that is killed under load loses at most what it heard last', async () => {
    const database = await postgres.createDatabase('killed');
    const url = redis.url(3);
    const own = { broker_url: url, result_backend: url };
    const steady = celeryApp({
      ...own,
      task_send_sent_event: true,
      worker_hijack_root_logger: false,
    } as never);
    const options = { database, collect: 'every', settings: own } as const;
    let monitor: MonitorProcess = await startMonitor(options);
    try {
      await steady.worker('-n', 'w1@alpha', '-P', 'threads', '-c', '4');
      const submitted = steady.script('steady_submit.py', '75', '14') as Promise<
        { readonly id: string; readonly state: string }[]
      >;
      await new Promise((resolve) => setTimeout(resolve, 7_000));
      const known = await everyTask(monitor);
      const killedAt = Date.now();
      await monitor.kill();
      monitor = await startMonitor(options);
      const truth = await submitted;
      const wrong = async () => {
        const tasks = await everyTask(monitor);
        return truth.filter(({ id, state }) => tasks.get(id)?.state !== state);
      };
      await until(async () => (await wrong()).length === 0, 30_000).catch(() => {});
      expect(await wrong()).toEqual([]);
      const after = await everyTask(monitor);
      const early = [...known.values()].filter(
        ({ finished }) => Date.parse(finished ?? '') < killedAt - 1_500,
      );
      expect(early.length).toBeGreaterThan(100);
      const lost = early.filter((task) => JSON.stringify(after.get(task.task_id)) !== JSON.stringify(task));
      expect(lost.map((task) => [task, after.get(task.task_id)])).toEqual([]);
      const nameless = truth.filter(({ id }) => after.get(id)?.name == null).length;
      console.log({ tasks: truth.length, known: early.length, nameless });
    } finally {
      await monitor.stop();
      await steady.close();
    }
  }, 180_000);
});

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

/** Pages by several filters and orders, stats, and the graphs of all tasks. */
async function answersOf(sources: CelerySources, truths: readonly Truth[]): Promise<unknown> {
  const { tasks } = sources;
  const pages = [
    {},
    { limit: 20 },
    { states: ['FAILURE'] },
    { queues: ['slow'] },
    { sort: 'runtime', order: 'asc' },
    { sort: 'name', order: 'desc', limit: 50 },
  ] as const;
  const listed = await Promise.all(pages.map(async (page) => tasks.listTasks(query(page), context)));
  const trees = await Promise.all(truths.map(async ({ id }) => tasks.getTaskTree?.(id, context)));
  const details = await Promise.all(truths.map(async ({ id }) => tasks.getTask(id, context)));
  return JSON.parse(
    JSON.stringify({
      pages: listed.map((page) => ({ tasks: page.tasks, total: page.total })),
      trees: trees.map((tree) => ({
        rootId: tree?.rootId,
        tasks: tree?.tasks.map(({ id }) => id).sort(),
        relations: tree?.relations
          ?.map(({ parent, child, relation }) => `${parent} ${relation} ${child}`)
          .sort(),
      })),
      details,
    }),
  );
}
