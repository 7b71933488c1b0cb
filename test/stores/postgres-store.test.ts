import { readFileSync } from 'node:fs';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { StoreEngine } from '../../src/history/store.ts';
import { type PgPool, type PostgresStoreOptions, postgresSchema, postgresStore } from '../../src/postgres.ts';
import { createPostgresStore } from '../../src/stores/postgres/create-postgres-store.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { instanceOf, runTask, sendTask, taskIn } from '../stored/instances.ts';
import { expectForeignRowsSkipped } from './foreign-rows.ts';
import { clientOf, DAY, storedQuery, taskOf } from './samples.ts';

const WAIT = { timeout: 15_000, interval: 20 };

/** The blocks of SQL in a section of a page. */
function statementsOf(page: string, heading: string): string[] {
  const text = readFileSync(page, 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, sql = '']) => sql);
}

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'tables in PostgreSQL'), () => {
  let server: PostgresServer;
  let databases = 0;
  beforeAll(async () => {
    server = await startPostgres();
    await server.createRole('writer');
  });
  afterAll(() => server.close());

  /** An empty database, and a way to open stores in it. */
  async function emptyDatabase() {
    const name = `shop${++databases}`;
    await server.createDatabase(name);
    const query = (text: string, values: unknown[] = []) => server.query(text, values, name);
    const poolOf = (role = 'postgres', max = 2): pg.Pool => {
      const pool = new pg.Pool({ connectionString: server.url(name, role), max });
      pool.on('error', () => {});
      onTestFinished(() => pool.end());
      return pool;
    };
    const store = (given: PostgresStoreOptions & { role?: string; max?: number } = {}): StoreEngine => {
      const { role, max, ...options } = given;
      return postgresStore(poolOf(role, max), { prefix: 'monitor_', ...options }) as StoreEngine;
    };
    const open = (given: Parameters<typeof store>[0] = {}, isReadOnly = false) =>
      store(given).open({ source: 'shop', deployment: null, isReadOnly });
    const tables = async () =>
      (await query('SELECT tablename FROM pg_tables')).map((row) => String(row.tablename));
    return { name, query, poolOf, store, open, tables };
  }

  it('creates its tables once, however many instances start at the same time', async () => {
    const { open, query } = await emptyDatabase();
    const sessions = await Promise.all(Array.from({ length: 6 }, () => open({ schema: 'history' })));
    await Promise.all(sessions.map((session, at) => session.tasks.write([taskOf(`t${at}`)])));
    expect(await sessions[0]?.tasks.count(storedQuery(), 10)).toBe(6);
    const days = await query(
      "SELECT count(*) FROM pg_inherits WHERE inhparent IN ('history.monitor_task'::regclass, 'history.monitor_relation'::regclass)",
    );
    expect(days).toEqual([{ count: '8' }]);
  });

  it('has a table for today and each of the next two days, and drops old ones as a whole', async () => {
    const { open, query, tables } = await emptyDatabase();
    const session = await open();
    for (let day = DAY; day <= DAY + 2; day++) expect(await tables()).toContain(`monitor_task_d${day}`);
    // As if the process had started nine days ago.
    const old = DAY - 9;
    await query(
      `CREATE TABLE monitor_task_d${old} PARTITION OF monitor_task FOR VALUES FROM (${old}) TO (${old + 1})`,
    );
    await session.tasks.write([taskOf('open', { day: old, isOpen: true }), taskOf('done', { day: old })]);
    await session.tasks.dropBefore(DAY - 7, DAY);
    expect(await tables()).not.toContain(`monitor_task_d${old}`);
    expect(await session.tasks.list(storedQuery())).toEqual([taskOf('open', { isOpen: true })]);
    // Rows of tomorrow that came before their table stay where they are.
    await query(`DROP TABLE monitor_task_d${DAY + 1}`);
    await session.tasks.write([taskOf('early', { day: DAY + 1 })]);
    await session.tasks.dropBefore(DAY - 7, DAY);
    expect(await tables()).not.toContain(`monitor_task_d${DAY + 1}`);
    expect(await session.tasks.read(['early'])).toHaveLength(1);
  });

  it('drops no partition but its own, and executes no name', async () => {
    const { open, query, tables } = await emptyDatabase();
    const session = await open();
    await query('CREATE TABLE precious_d1 (a integer)');
    const old = DAY - 9;
    const others = ['monitor_task" CASCADE; DROP TABLE "precious_d1', 'archive_d2', 'monitor_task_d03'];
    for (const [at, name] of others.entries()) {
      const day = old + at;
      await query(
        `CREATE TABLE "${name.replaceAll('"', '""')}" PARTITION OF monitor_task FOR VALUES FROM (${day}) TO (${day + 1})`,
      );
    }
    await session.tasks.dropBefore(DAY - 5, DAY);
    expect(await tables()).toEqual(expect.arrayContaining(['precious_d1', ...others]));
  });

  it('shows all other tasks when somebody has written rows that are none of its own', async () => {
    const { store, query } = await emptyDatabase();
    await expectForeignRowsSkipped(store, {
      exec: query,
      tasks: 'monitor_task',
      long: "repeat('x', 18000000)",
      numbers: ["changed = 'NaN'", "changed = 'Infinity'", "changed = '-Infinity'", 'changed = 1e300'],
    });
  });

  it('waits for locks only shortly when it drops a day, and leaves no connection in a failed transaction', async () => {
    const { name, open, query, tables } = await emptyDatabase();
    const session = await open({ max: 1 });
    const old = DAY - 9;
    await query(
      `CREATE TABLE monitor_task_d${old} PARTITION OF monitor_task FOR VALUES FROM (${old}) TO (${old + 1})`,
    );
    const reader = new pg.Client(server.url(name));
    await reader.connect();
    await reader.query('BEGIN; SELECT * FROM monitor_task LIMIT 1');
    const from = Date.now();
    await expect(session.tasks.dropBefore(DAY - 7, DAY)).rejects.toMatchObject({ code: 'locked' });
    expect(Date.now() - from).toBeLessThan(6_000);
    // The only connection of the pool still works.
    expect(await session.tasks.write([taskOf('a')])).toEqual(new Set(['a']));
    await reader.end();
    await session.tasks.dropBefore(DAY - 7, DAY);
    expect(await tables()).not.toContain(`monitor_task_d${old}`);
  });

  it('searches with pg_trgm where every day has the index', async () => {
    const { open, query } = await emptyDatabase();
    await query('CREATE EXTENSION pg_trgm');
    const session = await open();
    await session.tasks.write([
      taskOf('Order-1', { record: JSON.stringify({ kwargs: '{"sku": "50%_OFF"}' }) }),
      taskOf('order-2', { record: '{}' }),
    ]);
    const find = async (hint: string) =>
      (await session.tasks.list(storedQuery({ hint, sort: 'name' }))).map(({ id }) => id);
    expect(await find('50%_off')).toEqual(['Order-1']);
    expect(await find('sku": "50')).toEqual(['Order-1']);
    expect(await find('50___')).toEqual([]);
    expect(await find('order-')).toEqual(['Order-1', 'order-2']);
    // Too short, or nothing that the database compares as JavaScript does: everything passes.
    expect(await find('50')).toHaveLength(2);
    expect(await find('éé')).toHaveLength(2);
    const [plan] = await query(
      "SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%gin_trgm_ops%' AND tablename LIKE 'monitor_task_d%'",
    );
    expect(plan).toEqual({ count: '3' });
  });

  it('works with the roles of docs/history.md', async () => {
    const [owner = '', reader = '', writer = ''] = statementsOf('docs/history.md', 'PostgreSQL: roles');
    const settings = { schema: 'monitor', prefix: 'task_monitor_' };
    const use = async (database: Awaited<ReturnType<typeof emptyDatabase>>, role: string) => {
      const session = await database.open({ ...settings, role });
      await session.tasks.write([taskOf('old', { day: DAY - 9 }), taskOf('new')]);
      await session.tasks.dropBefore(DAY - 7, DAY);
      const readonly = await database.open({ ...settings, role: 'monitor_reader' }, true);
      expect((await readonly.tasks.list(storedQuery())).map(({ id }) => id)).toEqual(['new']);
      expect(await readonly.size()).toBeGreaterThan(0);
      await expect(readonly.tasks.write([taskOf('b')])).rejects.toMatchObject({ code: 'permission' });
    };
    const owned = await emptyDatabase();
    await owned.query(owner);
    await owned.query(reader);
    await use(owned, 'monitor');
    expect(await owned.tables()).toContain(`task_monitor_task_d${DAY}`);

    const given = await emptyDatabase();
    await given.query(postgresSchema({ schema: 'monitor' }));
    await given.query(writer);
    await given.query(reader.replace(/^CREATE ROLE.*$/m, ''));
    await use(given, 'monitor_writer');
    expect(await given.tables()).not.toContain(`task_monitor_task_d${DAY}`);
  });

  it('reports to a role that may not create tables what is missing', async () => {
    const { open } = await emptyDatabase();
    await expect(open({ role: 'writer' })).rejects.toMatchObject({
      code: 'schema_missing',
      remedy: expect.stringContaining('docs/history.md'),
    });
  });

  it('refuses a schema that is newer or older, and one that is missing where it may only read', async () => {
    const { open, query, tables } = await emptyDatabase();
    const before = await tables();
    await expect(open({}, true)).rejects.toMatchObject({ code: 'schema_missing' });
    await expect(open({ readOnly: true })).rejects.toMatchObject({ code: 'schema_missing' });
    expect(await tables()).toEqual(before);
    await open();
    await query("UPDATE monitor_meta SET value = '7'");
    await expect(open()).rejects.toMatchObject({
      code: 'schema_newer',
      message: expect.stringContaining('version 7'),
      remedy: expect.stringContaining('Upgrade'),
    });
    await query("UPDATE monitor_meta SET value = '1'");
    await expect(open()).rejects.toMatchObject({
      code: 'schema_older',
      message: expect.stringContaining('version 1'),
      remedy: expect.stringContaining('drop these tables'),
    });
  });

  it('creates its tables anew when somebody has dropped them', async () => {
    const { open, query } = await emptyDatabase();
    const session = await open({ schema: 'history' });
    await query('DROP SCHEMA history CASCADE');
    await expect(session.tasks.write([taskOf('a')])).rejects.toMatchObject({ code: 'schema_missing' });
    expect(await session.tasks.write([taskOf('a')])).toEqual(new Set(['a']));
  });

  it('fails in time, with a code and without secrets', async () => {
    const { name, poolOf, open, query } = await emptyDatabase();
    const impatient = createPostgresStore({
      ...{
        client: clientOf(poolOf()),
        prefix: 'monitor_',
        schema: null,
        isReadOnly: false,
        deployment: null,
      },
      ...{ retention: { taskDays: 7, rollupDays: 90 }, deadlines: { read: 300, write: 300 } },
    });
    const session = await impatient.open({ source: 'shop', deployment: null, isReadOnly: false });
    const blocker = new pg.Client(server.url(name));
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE monitor_task');
    await expect(session.tasks.read(['a'])).rejects.toMatchObject({ code: 'timeout' });
    await blocker.end();
    await query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const readOnly = await open();
    await expect(readOnly.tasks.write([taskOf('a')])).rejects.toMatchObject({ code: 'read_only' });
    const away = new pg.Pool({ connectionString: 'postgres://user:secret@127.0.0.1:1/shop' });
    const js = postgres('postgres://user:secret@127.0.0.1:1/shop', { connect_timeout: 1, backoff: false });
    for (const client of [away, js]) {
      const store = postgresStore(client) as StoreEngine;
      const opening = store.open({ source: 'a', deployment: null, isReadOnly: false });
      const error: Error = await opening.then(
        () => new Error('it opens'),
        (reason) => reason,
      );
      expect(error).toMatchObject({ code: 'unreachable', message: 'There is no connection to PostgreSQL.' });
      expect(JSON.stringify(error) + error.stack).not.toMatch(/secret|127\.0/);
    }
    await Promise.all([away.end(), js.end()]);
  });

  /** A store over a pool that refuses the next statements, and counts all of them. */
  async function counted() {
    const { poolOf } = await emptyDatabase();
    const pool = poolOf();
    const count = { refused: 0, statements: 0 };
    const client: PgPool = {
      query(query) {
        count.statements++;
        return count.refused-- > 0
          ? Promise.reject(Object.assign(new Error('deadlock'), { code: '40P01' }))
          : pool.query(query as string);
      },
    };
    const store = postgresStore(client) as StoreEngine;
    const session = await store.open({ source: 'shop', deployment: null, isReadOnly: false });
    return { count, session };
  }

  it('tries again what others have disturbed, a few times', async () => {
    const { count, session } = await counted();
    count.refused = 2;
    expect(await session.tasks.write([taskOf('a')])).toEqual(new Set(['a']));
    Object.assign(count, { refused: 9, statements: 0 });
    const relation = { parent: 'a', child: 'b', relation: 'chain' };
    await expect(session.relations.write([relation])).rejects.toMatchObject({ code: 'conflict' });
    expect(count.statements).toBe(4);
  });

  it('reads a page by name with few statements, also where a filter leaves few tasks of each name', async () => {
    const { count, session } = await counted();
    // Two tasks of each of 60 names, of which the filter passes only every seventh.
    const all = Array.from({ length: 120 }, (_, at) =>
      taskOf(`id-${String((at * 7) % 120).padStart(3, '0')}`, {
        ...{ name: `name-${String(at >> 1).padStart(2, '0')}`, queue: at % 7 === 0 ? 'q' : null },
      }),
    );
    await session.tasks.write(all);
    const expected = all
      .filter(({ queue }) => queue === 'q')
      .toSorted((a, b) => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1));
    const list = { queues: ['q'], sort: 'name', order: 'asc', limit: 5 } as const;
    for (let from = 0; from < expected.length; from += 5) {
      const last = expected[from - 1];
      const after = last === undefined ? null : { key: last.name, id: last.id };
      count.statements = 0;
      expect(await session.tasks.list(storedQuery({ ...list, after }))).toEqual(
        expected.slice(from, from + 5),
      );
      // One to find each of 20 names, one to read it, and one for the rest.
      expect(count.statements).toBeLessThanOrEqual(41);
    }
  });

  it('takes names as long as they may be', async () => {
    const { open } = await emptyDatabase();
    const session = await open({ prefix: 'a'.repeat(44), schema: 'b'.repeat(63) });
    expect(await session.tasks.write([taskOf('a')])).toEqual(new Set(['a']));
  });

  describe('a history in them', () => {
    let pool: pg.Pool;
    beforeAll(() => {
      pool = new pg.Pool({ connectionString: server.url(), max: 4 });
      // Connections that the killed server leaves behind.
      pool.on('error', () => {});
    });
    afterAll(() => pool.end());

    /** @param isCut whether the database answers nothing */
    function storeOf(prefix: string, isCut: () => boolean = () => false): StoreEngine {
      const client: PgPool = {
        query: (query) => (isCut() ? Promise.reject(new Error('cut')) : pool.query(query as string)),
      };
      return postgresStore(client, { prefix }) as StoreEngine;
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
      // On a busy machine, more would be waiting than it can write in time.
      const burst = (): void => {
        for (let at = 0; at < 100 && count < 20_000; at++) runTask(history, `t${count++}`);
      };
      const load = setInterval(burst, 10);
      await vi.waitFor(() => expect(history.status().lastWrite).not.toBeNull(), WAIT);
      await server.kill();
      await vi.waitFor(() => expect(history.status().error).not.toBeNull(), WAIT);
      clearInterval(load);
      // All of the load may have been written before the kill.
      const last = `t${count++}`;
      runTask(history, last);
      expect(await taskIn(history, last)).toMatchObject({ state: 'SUCCESS' });
      await server.start();
      await vi.waitFor(
        () => expect(history.status()).toMatchObject({ waiting: 0, lost: 0, error: null }),
        WAIT,
      );
      expect(await stored('killed_')).toEqual([{ state: 'SUCCESS', count }]);
    }, 120_000);

    it('brings every field back after a restart', async () => {
      const before = instanceOf({ store: storeOf('restart_') });
      const { writer } = before;
      const time = Date.now() - 1_000;
      runTask(before, 'done', time);
      sendTask(before, 'open', time);
      const odd = "('\u0000 \ud800 \\u0041 \ud83d\ude00',)";
      const failed = { id: 'failed', time, origin: 'event', name: 'a.b', args: odd } as const;
      writer.recordTask({
        ...failed,
        type: 'received',
        worker: 'w',
        kwargs: '{}',
        eta: time,
        rootId: 'done',
      });
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
});
