import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe } from 'vitest';
import type { StoreEngine } from '../../src/history/store.ts';
import { type PgPool, type PostgresJs, postgresStore } from '../../src/postgres.ts';
import { createPostgresStore } from '../../src/stores/postgres/create-postgres-store.ts';
import { type PgBouncer, pgbouncerMissing, startPgBouncer } from '../helpers/pgbouncer.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { describeSameReads } from '../stored/same-reads.ts';
import { storeContract } from './contract.ts';
import { clientOf } from './samples.ts';

const missing = postgresMissing ?? pgbouncerMissing;

describe.skipIf(missing)(titleUnless(missing, 'a store in PostgreSQL'), () => {
  let server: PostgresServer;
  let bouncer: PgBouncer;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    bouncer = await startPgBouncer(server.port);
  });
  afterAll(async () => {
    await Promise.all(ends.map((end) => end()));
    await bouncer.close();
    await server.close();
  });

  /** One client for the suite: a pool would open too many connections. */
  function subjectOf(
    prefix: string,
    create: () => { client: PgPool | PostgresJs; end: () => Promise<unknown> },
  ) {
    let made: PgPool | PostgresJs | undefined;
    return () => {
      if (made === undefined) {
        const { client, end } = create();
        ends.push(end);
        made = client;
      }
      const client = made;
      return { createStore: () => postgresStore(client, { prefix }) as StoreEngine };
    };
  }
  const pool = (url: string) => {
    const client = new pg.Pool({ connectionString: url, max: 4 });
    return { client, end: () => client.end() };
  };
  const js = (url: string, options: postgres.Options<Record<string, never>> = {}) => {
    const client = postgres(url, { max: 4, ...options });
    return { client, end: () => client.end() };
  };

  storeContract(
    'pg',
    subjectOf('a_', () => pool(server.url())),
  );
  // Whatever the host sets, rows are read as they are.
  storeContract(
    'postgres.js',
    subjectOf('b_', () => js(server.url(), { transform: postgres.camel, fetch_types: false })),
  );
  storeContract(
    'pg behind PgBouncer',
    subjectOf('c_', () => pool(bouncer.url('postgres'))),
  );
  storeContract(
    'postgres.js behind PgBouncer',
    subjectOf('d_', () => js(bouncer.url('postgres'))),
  );

  // The option of `postgresStore` keeps tasks for a day at least.
  describeSameReads(
    'a history in a small memory and a PostgreSQL',
    (taskDays) => {
      const { client, end } = pool(server.url());
      ends.push(end);
      return createPostgresStore({
        ...{ client: clientOf(client), retention: { taskDays, rollupDays: 90 } },
        ...{ prefix: 'e_', schema: null, isReadOnly: false, deployment: null },
      });
    },
    12,
  );
});
