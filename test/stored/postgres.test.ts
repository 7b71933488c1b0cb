import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { StoreEngine } from '../../src/history/store.ts';
import { createPostgresStore } from '../../src/stores/postgres/create-postgres-store.ts';
import { postgresClient } from '../../src/stores/postgres/postgres-client.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { instanceOf, runTask, sendTask, taskIn } from './instances.ts';

const WAIT = { timeout: 15_000, interval: 20 };

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'a history in PostgreSQL'), () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url(), max: 4 });
    // Connections that the killed server leaves behind.
    pool.on('error', () => {});
  });
  afterAll(async () => {
    await pool.end();
    await server.close();
  });

  /** @param isCut whether the database answers nothing */
  function storeOf(prefix: string, isCut: () => boolean = () => false): StoreEngine {
    const client = postgresClient({
      query: (text: string, values?: unknown[]) =>
        isCut() ? Promise.reject(new Error('cut')) : pool.query(text, values),
    });
    if (client === null) throw new Error('no client');
    const retention = { taskDays: 7, rollupDays: 90 };
    return createPostgresStore({
      ...{ client, prefix, retention, schema: null, isReadOnly: false, deployment: null },
    });
  }

  const stored = async (prefix: string): Promise<Record<string, number>[]> =>
    (
      await pool.query(
        `SELECT state, count(*)::integer AS count FROM ${prefix}task GROUP BY state ORDER BY state`,
      )
    ).rows;

  it('loses nothing when the server is killed inside a batch and started again', async () => {
    const history = instanceOf({ store: storeOf('killed_') });
    await vi.waitFor(() => expect(history.isHolder()).toBe(true), WAIT);
    let count = 0;
    const burst = (): void => {
      for (let at = 0; at < 100; at++) runTask(history, `t${count++}`);
    };
    const load = setInterval(burst, 10);
    await vi.waitFor(() => expect(history.status().lastWrite).not.toBeNull(), WAIT);
    await server.kill();
    await vi.waitFor(() => expect(history.status().error).not.toBeNull(), WAIT);
    clearInterval(load);
    expect(await taskIn(history, `t${count - 1}`)).toMatchObject({ state: 'SUCCESS' });
    await server.start();
    await vi.waitFor(
      () => expect(history.status()).toMatchObject({ waiting: 0, lost: 0, error: null }),
      WAIT,
    );
    expect(await stored('killed_')).toEqual([{ state: 'SUCCESS', count }]);
  }, 40_000);

  it('brings every field back after a restart', async () => {
    const before = instanceOf({ store: storeOf('restart_') });
    const { writer } = before;
    const time = Date.now() - 1_000;
    runTask(before, 'done', time);
    sendTask(before, 'open', time);
    const odd = "('\u0000 \ud800 \\u0041 \ud83d\ude00',)";
    const failed = { id: 'failed', time, origin: 'event', name: 'a.b', args: odd } as const;
    writer.recordTask({ ...failed, type: 'received', worker: 'w', kwargs: '{}', eta: time, rootId: 'done' });
    writer.recordTask({ ...failed, type: 'retried', time: time + 1, exception: 'Busy', retries: 0 });
    writer.recordTask({
      ...{ ...failed, type: 'failed', time: time + 9, runtime: 0.5, stamps: { shop: ['a', 'b'] } },
      ...{ exception: 'KeyError', traceback: `Traceback\n${'x'.repeat(9_000)}`, parentId: 'done' },
    });
    const ids = ['done', 'open', 'failed'];
    const shown = await Promise.all(ids.map((id) => taskIn(before, id)));
    await vi.waitFor(() => expect(before.isHolder()).toBe(true), WAIT);
    await before.close();
    const after = instanceOf({ store: storeOf('restart_') });
    await vi.waitFor(() => expect(after.status().phase).toBe('ready'), WAIT);
    expect(await Promise.all(ids.map((id) => taskIn(after, id)))).toEqual(shown);
    expect(shown.every((task) => task !== null)).toBe(true);
  });

  it('is written by another instance soon after its holder cannot reach the database', async () => {
    let isCut = false;
    const one = instanceOf({ store: storeOf('taken_', () => isCut) });
    await vi.waitFor(() => expect(one.isHolder()).toBe(true), WAIT);
    const other = instanceOf({ store: storeOf('taken_') }, { now: () => Date.now() - 5 * 86_400_000 });
    await vi.waitFor(() => expect(other.status().isHolder).toBe(false), WAIT);
    isCut = true;
    for (const history of [one, other]) runTask(history, 'a');
    await vi.waitFor(() => expect(other.isHolder()).toBe(true), WAIT);
    expect(one.isHolder()).toBe(false);
    await vi.waitFor(
      async () => expect(await stored('taken_')).toEqual([{ state: 'SUCCESS', count: 1 }]),
      WAIT,
    );
  });
});
