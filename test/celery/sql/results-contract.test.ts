import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { celerySources } from '../../../src/celery.ts';
import { context } from '../../helpers/celery-events.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../../helpers/postgres.ts';
import { titleUnless, until } from '../../helpers/redis-server.ts';
import { ALL_PARTS, itKeepsTheContractTogether, NOT_SEEDED } from '../../testing/contract-parts.ts';
import { createDjangoTables, storeDjango } from './result-lab.ts';
import type { AppDatabase } from './sql-databases.ts';

const FEED = { limit: 10, since: null, states: [], workers: [], tasks: [] };

/** What this source gives the suite nothing to check with. */
const ITS_GAPS = {
  'tasks.tree: reaches every relative from any task of the workflow':
    'No listed task has a relative in the list.',
  'tasks.stats: says which tasks sent those of a name, and which ones they sent':
    'No listed task has a parent of the same day.',
};

describe.skipIf(postgresMissing !== null)(
  titleUnless(
    postgresMissing,
    'a Celery source on results in PostgreSQL alone keeps the contract of sources',
  ),
  () => {
    let server: PostgresServer;
    let pool: pg.Pool;
    let database: AppDatabase;

    beforeAll(async () => {
      server = await startPostgres();
      pool = new pg.Pool({ connectionString: server.url() });
      const query: AppDatabase['sql']['query'] = (text, values) =>
        pool.query(text, values).then(({ rows }) => rows as object[]);
      const admin = (text: string) => pool.query(text).then(({ rows }) => rows as object[]);
      const sql = { dialect: 'postgres', query } as const;
      database = { django: {}, sqlalchemy: '', sent: [], sql, admin, close: async () => {} };
      await createDjangoTables(database);
    });

    afterAll(async () => {
      await pool?.end();
      await server?.close();
    });

    itKeepsTheContractTogether(
      {
        parts: ALL_PARTS,
        async create() {
          await database.admin('TRUNCATE django_celery_results_taskresult');
          const sources = celerySources({ broker: 'sqs://', sql: database.sql });
          await until(() => sources.tasks.status?.().ok === true);
          const done = { task_name: 'shop.add', worker: 'celery@a' };
          await storeDjango(database, { ...done, task_id: 'a', status: 'SUCCESS', result: '1' });
          const failure = '{"exc_type": "ValueError", "exc_message": ["no"]}';
          await storeDjango(database, { ...done, task_id: 'b', status: 'FAILURE', result: failure });
          await until(async () => (await sources.events.listEvents(FEED, context)).events.length >= 2);
          return { sources };
        },
      },
      { ...NOT_SEEDED, ...ITS_GAPS },
    );
  },
);
