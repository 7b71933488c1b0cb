import pg from 'pg';
import postgres from 'postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pgbouncerMissing, startPgBouncer } from '../helpers/pgbouncer.ts';
import { postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';

const missing = postgresMissing ?? pgbouncerMissing;

describe.skipIf(missing)(titleUnless(missing, 'the PostgreSQL of these tests'), () => {
  it('keeps what was committed when it is killed, and forgets the rest', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.close());
    const url = await server.createDatabase('shop');
    await server.createRole('reader');
    await server.query('CREATE TABLE task (id text)', [], 'shop');
    await server.query('GRANT SELECT ON task TO reader', [], 'shop');
    const open = new pg.Client(url);
    open.on('error', () => {});
    await open.connect();
    await open.query('BEGIN');
    await open.query("INSERT INTO task VALUES ('lost')");
    await server.query("INSERT INTO task VALUES ('kept')", [], 'shop');
    await server.kill();
    await expect(server.query('SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await server.start();

    const bouncer = await startPgBouncer(server.port, { roles: ['reader'] });
    onTestFinished(() => bouncer.close());
    const reader = postgres(bouncer.url('shop', 'reader'), { prepare: false, max: 2 });
    expect([...(await reader.unsafe('SELECT id FROM task'))]).toEqual([{ id: 'kept' }]);
    await expect(reader.unsafe('DELETE FROM task')).rejects.toThrow('permission denied');
    await reader.end();
    await server.stop();
  });
});
