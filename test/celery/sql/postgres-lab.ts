/** One PostgreSQL for a file of tests, with an empty database for each of them. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { CelerySources, CelerySourcesOptions } from '../../../src/celery.ts';
import { celerySources } from '../../../src/celery.ts';
import { componentOf, context } from '../../helpers/celery-events.ts';
import { type PostgresServer, startPostgres } from '../../helpers/postgres.ts';
import { type Watched, watchResults } from './result-lab.ts';
import type { AppDatabase } from './sql-databases.ts';

/** A database, and what reads it. Everything is closed with it. */
export interface PostgresLab extends AppDatabase {
  readonly server: PostgresServer;
  readonly name: string;
  /** A client of a role. */
  client(role: string): AppDatabase['sql'];
  watch(...args: Parameters<typeof watchResults>): Watched;
  /** A source that has nothing but results. */
  monitor(sql: AppDatabase['sql'], options?: Partial<CelerySourcesOptions>): CelerySources;
}

/** Starts the server; each call of the result opens an empty database. */
async function startPostgresLab(): Promise<{
  readonly server: PostgresServer;
  open(): Promise<PostgresLab>;
}> {
  const server = await startPostgres();
  let count = 0;
  return { server, open: () => openLab(server, `db${++count}`) };
}

/** For one `describe`: one server, and an empty database before each test. */
export function usePostgresLab(opened: (database: PostgresLab) => void): void {
  let lab: Awaited<ReturnType<typeof startPostgresLab>>;
  let database: PostgresLab;

  beforeAll(async () => {
    lab = await startPostgresLab();
  });

  beforeEach(async () => {
    database = await lab.open();
    opened(database);
  });

  afterEach(() => database.close());

  afterAll(() => lab?.server.close());
}

async function openLab(server: PostgresServer, name: string): Promise<PostgresLab> {
  await server.createDatabase(name);
  const opened: { close(): unknown }[] = [];
  const pools: pg.Pool[] = [];
  const sent: { text: string; values: readonly string[] }[] = [];
  const client = (role: string): AppDatabase['sql'] => {
    const pool = new pg.Pool({ connectionString: server.url(name, role), max: 2 });
    pool.on('error', () => {});
    pools.push(pool);
    return {
      dialect: 'postgres',
      query(text, values) {
        sent.push({ text, values });
        return pool.query(text, values).then(({ rows }) => rows as object[]);
      },
    };
  };
  const kept = <One extends { close(): unknown }>(one: One): One => {
    opened.push(one);
    return one;
  };
  return {
    ...{ server, name, client, sent, django: {}, sqlalchemy: '', sql: client('postgres') },
    admin: (text) => server.query(text, undefined, name),
    watch: (...args) => kept(watchResults(...args)),
    monitor: (sql, options = {}) => kept(celerySources({ broker: 'sqs://', sql, ...options })),
    async close() {
      for (const one of opened) await one.close();
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}

/** A task as the source shows it. */
export const taskOf = async (sources: CelerySources, id: string) => sources.tasks.getTask(id, context);

/** The hints of the result backend, as JSON. */
export const hintsOf = async (sources: CelerySources): Promise<string> =>
  JSON.stringify((await componentOf(sources, 'backend')).config.hints);
