import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { createPostgresStore } from '../../src/stores/postgres/create-postgres-store.ts';
import { postgresClient } from '../../src/stores/postgres/postgres-client.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { describeSameReads } from './same-reads.ts';

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'reads of PostgreSQL'), () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url('postgres'), max: 4 });
  });
  afterAll(async () => {
    await pool.end();
    await server.close();
  });

  describeSameReads(
    'a history in a small memory and a PostgreSQL',
    (taskDays) => {
      const client = postgresClient(pool);
      if (client === null) throw new Error('no client');
      const retention = { taskDays, rollupDays: 90 };
      return createPostgresStore({
        ...{ client, retention, prefix: 'etm_', schema: null, isReadOnly: false, deployment: null },
      });
    },
    12,
  );
});
