import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import type { StoreEngine } from '../../../src/history/store.ts';
import { createPostgresStore } from '../../../src/stores/postgres/create-postgres-store.ts';
import { postgresClient } from '../../../src/stores/postgres/postgres-client.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../../helpers/postgres.ts';
import { titleUnless } from '../../helpers/redis-server.ts';
import { describeSameReads } from './same-reads-of-sql.ts';

const NUM_RUNS = 12;

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'a history in PostgreSQL'), () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: StoreEngine;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url('postgres'), max: 4 });
    const client = postgresClient(pool);
    if (client === null) throw new Error('no client');
    const retention = { taskDays: 7, rollupDays: 90 };
    const options = { client, retention, prefix: 'etm_', schema: null, isReadOnly: false, deployment: null };
    store = createPostgresStore(options);
  });
  afterAll(async () => {
    await pool.end();
    await server.close();
  });

  describeSameReads('memory and a PostgreSQL', () => store, NUM_RUNS);
});
