import * as bullmq from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { StoreEngine } from '../../src/history/store.ts';
import { createPostgresStore } from '../../src/stores/postgres/create-postgres-store.ts';
import { type PostgresClient, postgresClient } from '../../src/stores/postgres/postgres-client.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, detail, page, queryOf, walk } from '../helpers/bullmq-read.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const missing = redisMissing ?? postgresMissing;

describe.skipIf(missing !== null)(titleUnless(missing, 'jobs that are recorded in PostgreSQL'), () => {
  let app: BullMQApp;
  let postgres: PostgresServer;
  let pool: pg.Pool;
  let store: StoreEngine;
  const open: BullMQSources[] = [];

  beforeAll(async () => {
    [app, postgres] = await Promise.all([startBullMQ(bullmq), startPostgres()]);
    pool = new pg.Pool({ connectionString: postgres.url() });
    pool.on('error', () => {});
    store = createPostgresStore({
      client: postgresClient(pool) as PostgresClient,
      ...{ schema: null, prefix: 'monitor_', retention: { taskDays: 7, rollupDays: 90 } },
      ...{ isReadOnly: false, deployment: null },
    });
  });

  afterAll(async () => {
    await Promise.all(open.map((sources) => sources.close()));
    await pool?.end();
    await app?.close();
    await postgres?.close();
  });

  function instance(): BullMQSources {
    const sources = bullmqSources({ connection: app.redis.url(), store });
    open.push(sources);
    return sources;
  }

  /** Without jobs in Redis, a page must wait for the store. */
  async function isOpen(...all: readonly BullMQSources[]): Promise<void> {
    await until(async () => {
      const pages = await Promise.all(all.map((sources) => page(sources).catch(() => null)));
      return !pages.includes(null);
    });
  }

  it('are shown by every instance, also after a restart, without their secrets', async () => {
    const queue = app.queue('mail');
    const [first, second] = [instance(), instance()];
    await isOpen(first, second);
    app.worker('mail', async ({ data }) => {
      if (data.fails) throw new Error('password=hunter2');
      return { token: 'abcdef0123456789' };
    });
    const options = { removeOnComplete: true, removeOnFail: true };
    await queue.pause();
    await queue.addBulk(
      Array.from({ length: 30 }, (_, n) => ({
        name: 'send',
        data: { n, password: 'hunter2', fails: n % 3 === 0 },
        opts: options,
      })),
    );
    // A position is published behind what has been read.
    await until(async () => {
      const rows = await postgres.query('SELECT * FROM monitor_snapshot');
      return /\[\\*"mail\\*"/.test(JSON.stringify(rows));
    });
    await queue.resume();
    const ids = Array.from({ length: 30 }, (_, n) => `mail:${n + 1}`).sort();
    for (const sources of [first, second]) {
      await until(async () => {
        const rows = (await walk(sources, { limit: 7 })).filter(
          ({ engineState }) => engineState === 'removed',
        );
        return rows.length === 30;
      });
      const rows = await walk(sources, { limit: 7, sort: 'name' });
      expect(rows.map(({ id }) => id).sort()).toEqual(ids);
      expect(rows.filter(({ args }) => String(args).includes('hunter2'))).toEqual([]);
      expect(rows[0]?.args).toMatch(/"password":/);
      expect((await page(sources, { states: ['FAILURE'] })).tasks.length).toBe(10);
      const stats = await sources.tasks.getTaskStats?.(
        { minutes: 10, now: new Date(), filter: queryOf() },
        context,
      );
      expect(stats?.states).toEqual({ SUCCESS: 20, FAILURE: 10 });
    }
    const written = JSON.stringify(await postgres.query('SELECT * FROM monitor_task'));
    expect(written).toContain('mail:1');
    expect(written).not.toMatch(/hunter2|abcdef0123456789/);
    await Promise.all([first.close(), second.close()]);
    const restarted = instance();
    await isOpen(restarted);
    await until(async () => (await walk(restarted, { limit: 7 })).length === 30);
    expect(await detail(restarted, 'mail:1')).toMatchObject({ state: 'FAILURE', engineState: 'removed' });
  });

  it('are recorded by another instance when the one that records ends', async () => {
    const queue = app.queue('late');
    const [first, second] = [instance(), instance()];
    await isOpen(first, second);
    app.worker('late', async () => {});
    const add = async (count: number): Promise<void> => {
      const jobs = Array.from({ length: count }, () => ({
        name: 'a',
        data: {},
        opts: { removeOnComplete: true },
      }));
      await queue.addBulk(jobs);
    };
    const count = async (sources: BullMQSources): Promise<number> =>
      (await page(sources, { queues: ['late'], limit: 1_000 })).tasks.length;
    await add(20);
    await until(async () => (await count(second)) === 20);
    await first.close();
    await add(20);
    await until(async () => (await count(second)) === 40);
    const redis = new Redis(app.redis.port);
    expect(await redis.exists('bull:late:1')).toBe(0);
    redis.disconnect();
  });
});
