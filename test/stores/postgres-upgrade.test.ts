import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createPostgresStore } from '../../src/stores/postgres/create-postgres-store.ts';
import { postgresClient } from '../../src/stores/postgres/postgres-client.ts';
import { postgresSchema } from '../../src/stores/postgres/print-schema.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { DAY, storedQuery, taskOf } from './samples.ts';
import { toVersion1 } from './version-1.ts';

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'tables of version 1 in PostgreSQL'), () => {
  let server: PostgresServer;
  let databases = 0;
  beforeAll(async () => {
    server = await startPostgres();
    await server.createRole('writer');
  });
  afterAll(() => server.close());

  /** A database with tables of version 1, and a task in them. */
  async function oldDatabase() {
    const name = `old${++databases}`;
    await server.createDatabase(name);
    const query = (text: string) => server.query(text, [], name);
    const open = (role = 'postgres', isReadOnly = false) => {
      const pool = new pg.Pool({ connectionString: server.url(name, role), max: 2 });
      pool.on('error', () => {});
      onTestFinished(() => pool.end());
      const client = postgresClient(pool);
      if (client === null) throw new Error('no pool of pg');
      const store = createPostgresStore({
        ...{ client, schema: null, prefix: 'monitor_', isReadOnly, deployment: null },
        retention: { taskDays: 7, rollupDays: 90 },
      });
      return store.open({ source: 'shop', deployment: null, isReadOnly });
    };
    const session = await open();
    await session.tasks.write([
      taskOf('old', { state: 'FAILURE', timestamp: 1 }),
      taskOf('rest', { state: 'FAILURE', timestamp: 2, day: 3 }),
    ]);
    for (const statement of toVersion1(['monitor_task'])) await query(statement);
    return { name, query, open };
  }

  it('are changed once, keep their rows, and get the index with each new day', async () => {
    const { query, open } = await oldDatabase();
    await expect(open('postgres', true)).rejects.toMatchObject({ code: 'schema_missing' });
    const [session] = await Promise.all(Array.from({ length: 4 }, () => open()));
    expect(await query("SELECT value FROM monitor_meta WHERE key = 'schema'")).toEqual([{ value: '2' }]);
    expect((await session?.tasks.read(['old', 'rest']))?.map(({ cause }) => cause)).toEqual([null, null]);
    const failed = { state: 'FAILURE', cause: 'c', timestamp: 5 };
    await session?.tasks.write([taskOf('old', { ...failed, version: 2 }), taskOf('new', failed)]);
    const found = await session?.tasks.list(storedQuery({ states: ['FAILURE'], causes: ['c'] }));
    expect(found?.map(({ id }) => id)).toEqual(['new', 'old']);
    // Tables of days that come later.
    await query(`DROP TABLE monitor_task_d${DAY + 2}`);
    await session?.tasks.dropBefore(DAY - 7);
    const indexed = await query(
      "SELECT tablename FROM pg_indexes WHERE indexdef LIKE '%cause%' AND tablename LIKE 'monitor_task_%' ORDER BY 1",
    );
    expect(indexed.map(({ tablename }) => tablename)).toEqual([
      `monitor_task_d${DAY + 2}`,
      'monitor_task_rest',
    ]);
  });

  it('are changed once nobody holds them, and wait for nobody for long', async () => {
    const { name, query, open } = await oldDatabase();
    const reader = new pg.Client(server.url(name));
    await reader.connect();
    await reader.query('BEGIN; SELECT * FROM monitor_task LIMIT 1');
    await expect(open()).rejects.toMatchObject({ code: 'locked' });
    // Whoever writes as version 1 has not waited behind it.
    await query(`INSERT INTO monitor_task (source_id, id, day, version, is_open, state, record)
      VALUES (1, 'meanwhile', ${DAY}, 1, 0, 'SUCCESS', '{}')`);
    await reader.end();
    const session = await open();
    expect(await session.tasks.known(['old', 'meanwhile'])).toEqual(new Set(['old', 'meanwhile']));
  });

  it('are changed by an administrator where the role may not', async () => {
    const { query, open } = await oldDatabase();
    await query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO writer');
    await expect(open('writer')).rejects.toMatchObject({ code: 'schema_missing' });
    await query(postgresSchema({ prefix: 'monitor_', from: 1 }));
    await query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO writer');
    const session = await open('writer');
    expect(await session.tasks.known(['old'])).toEqual(new Set(['old']));
    expect(() => postgresSchema({ from: 7 as 1 })).toThrow("'from' must be 1, the version of the tables");
  });
});
