/** Monitors of BullMQ that are killed under load: nothing is lost that the event streams still have. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as bullmq from 'bullmq';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TasksBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { startPostgresMonitor, startSqliteMonitor } from '../helpers/bullmq-monitor.ts';
import type { MonitorProcess } from '../helpers/monitor-process.ts';
import { sqliteMissing } from '../helpers/other-node.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const ENGINES = [
  { engine: 'PostgreSQL', missing: redisMissing ?? postgresMissing },
  { engine: 'SQLite', missing: redisMissing ?? sqliteMissing },
] as const;

/** Jobs a second, for so many seconds: less than the 10,000 entries that a stream keeps. */
const RATE = 150;
const SECONDS = 12;
/** Jobs that a kill may leave out of the counts, or count twice, however fast they were recorded. */
const UNCOUNTED = 500;

for (const { engine, missing } of ENGINES) {
  describe.skipIf(missing !== null)(titleUnless(missing, `a monitor of BullMQ with ${engine}`), () => {
    const folder = mkdtempSync(join(tmpdir(), 'monitor-killed-'));
    let postgres: PostgresServer | null = null;
    let app: BullMQApp;
    let queue: bullmq.Queue;
    let start: () => Promise<MonitorProcess>;
    let running: MonitorProcess[];
    let databases = 0;

    beforeAll(async () => {
      postgres = engine === 'PostgreSQL' ? await startPostgres() : null;
    });

    beforeEach(async () => {
      app = await startBullMQ(bullmq);
      queue = app.queue('mail');
      running = [];
      databases += 1;
      const database = (await postgres?.createDatabase(`killed${databases}`)) ?? null;
      start = async () => {
        const monitor = await (database === null
          ? startSqliteMonitor(app.redis.url(), join(folder, `${databases}.db`))
          : startPostgresMonitor(app.redis.url(), database));
        running.push(monitor);
        return monitor;
      };
    });

    afterEach(async () => {
      await Promise.all(running.map((monitor) => monitor.kill()));
      await app.close();
    });

    afterAll(async () => {
      await postgres?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Jobs that end and are removed at once. @returns how many of them failed */
    async function load(seconds: number): Promise<number> {
      const opts = { removeOnComplete: true, removeOnFail: true, delay: 300 };
      app.worker(
        'mail',
        async ({ data }) => {
          if (data.n % 10 === 0) throw new Error('no route');
          return { n: data.n };
        },
        { concurrency: 20 },
      );
      let n = 0;
      const begin = performance.now();
      for (let tick = 1; tick <= seconds * 10; tick += 1) {
        const jobs = Array.from({ length: RATE / 10 }, () => ({ name: 'send', data: { n: n++ }, opts }));
        await queue.addBulk(jobs);
        await new Promise((resolve) => setTimeout(resolve, begin + tick * 100 - performance.now()));
      }
      await app.settled(queue, 0, 'delayed', 'wait', 'prioritized', 'active');
      return Math.ceil(n / 10);
    }

    async function rows(monitor: MonitorProcess): Promise<Map<string, TasksBody['tasks'][number]>> {
      const found = new Map<string, TasksBody['tasks'][number]>();
      for (let cursor: string | null = ''; cursor !== null; ) {
        const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const page: TasksBody | null = await monitor.get<TasksBody>(`/api/tasks/?limit=1000${after}`);
        if (page === null) return found;
        for (const task of page.tasks) found.set(task.task_id, task);
        cursor = page.next_cursor;
      }
      return found;
    }

    it('loses nothing when it is killed twice, and counts all but the last jobs before a kill', async () => {
      let monitor = await start();
      await until(async () => (await monitor.get('/api/tasks/')) !== null);
      const loaded = load(SECONDS);
      for (const seconds of [4, 8]) {
        // Some of its jobs have ended, and others are to come.
        await until(async () => (await rows(monitor)).size >= (seconds * RATE) / 2);
        await monitor.kill();
        monitor = await start();
      }
      const failed = await loaded;
      const jobs = RATE * SECONDS;
      await until(async () => (await rows(monitor)).size === jobs, 60_000).catch(() => {});
      const found = await rows(monitor);
      expect(found.size).toBe(jobs);
      expect([...found.values()].filter(({ state }) => state === 'FAILURE').length).toBe(failed);
      // Jobs that waited when nobody listened are read, too, if they were still there.
      const nameless = [...found.values()].filter(({ name }) => name === null).length;
      expect(nameless).toBe(0);
      // Of an hour, the tasks are summed up; of 30 days, what was counted.
      const day = await monitor.get<TasksBody>('/api/tasks/?limit=0&stats=60');
      expect(day?.stats?.states).toEqual({ SUCCESS: jobs - failed, FAILURE: failed });
      // A monitor that ends writes what it has counted.
      await monitor.stop();
      monitor = await start();
      const month = () => monitor.get<TasksBody>('/api/tasks/?limit=0&stats=43200&stats_step=86400');
      await until(async () => (await month())?.stats?.computed_from === 'rollups');
      const states = (await month())?.stats?.states ?? {};
      const counted = Object.values(states).reduce((sum, count) => sum + count, 0);
      expect(Math.abs(counted - jobs)).toBeLessThanOrEqual(2 * UNCOUNTED);
      console.log({ engine, jobs, counted });
    }, 180_000);
  });
}
