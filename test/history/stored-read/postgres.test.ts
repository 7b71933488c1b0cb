import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { HistoryStore } from '../../../src/history/store.ts';
import { createPostgresStore } from '../../../src/stores/postgres/create-postgres-store.ts';
import { postgresClient } from '../../../src/stores/postgres/postgres-client.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../../helpers/postgres.ts';
import { titleUnless } from '../../helpers/redis-server.ts';
import { queries, splitOf, splits } from './random-splits.ts';
import { expectSamePages } from './same-pages.ts';

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'memory and a PostgreSQL'), () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: HistoryStore;

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

  it('list the same pages as one memory that holds everything', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(splits, queries, async (given, { filter, ...part }) => {
        const opening = { source: `jobs${count++}`, deployment: null, isReadOnly: false };
        const session = await store.open(opening);
        const { whole, reader } = await splitOf(given, session);
        await expectSamePages(reader, whole.reader, { ...filter, ...part });
        await store.close(session);
      }),
      { numRuns: 12 },
    );
  });
});
