import pg from 'pg';
import { describe, expect } from 'vitest';
import { celeryMissing } from '../helpers/celery-app.ts';
import { djangoBeatMissing } from '../helpers/django-beat.ts';
import { postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { type OwnRabbit, rabbitMissing, startRabbit } from '../helpers/rabbitmq.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { checkFields, type FieldsServers } from './fields-lab.ts';

const missing = celeryMissing ?? rabbitMissing ?? redisMissing ?? djangoBeatMissing ?? postgresMissing;

/** Queues of a monitor have names that begin so. */
const isOurs = ({ name }: { readonly name: string }): boolean => name.startsWith('express-task-monitor');

async function leavesNothing(rabbit: OwnRabbit): Promise<void> {
  await until(async () => !(await rabbit.queues('/')).some(isOurs), 10_000).catch(() => {});
  expect((await rabbit.queues('/')).filter(isOurs)).toEqual([]);
}

async function withRedis(): Promise<FieldsServers> {
  const [rabbit, redis] = await Promise.all([startRabbit(), startRedis()]);
  return {
    settings: { broker_url: rabbit.url(), result_backend: redis.url(2) },
    check: () => leavesNothing(rabbit),
    close: async () => void (await Promise.all([rabbit.close(), redis.close()])),
  };
}

async function withPostgres(): Promise<FieldsServers> {
  const [rabbit, postgres] = await Promise.all([startRabbit(), startPostgres()]);
  const pool = new pg.Pool({ connectionString: postgres.url(), max: 4 });
  pool.on('error', () => {});
  const database = { ENGINE: 'django.db.backends.postgresql', NAME: 'postgres', USER: 'postgres' };
  const django = { ...database, HOST: '127.0.0.1', PORT: postgres.port };
  return {
    settings: { broker_url: rabbit.url(), result_backend: 'django-db', django },
    options: {
      sql: {
        dialect: 'postgres',
        query: (text, values) => pool.query(text, values).then(({ rows }) => rows as object[]),
      },
    },
    prepare: (app) => app.script('-c', MIGRATE),
    check: () => leavesNothing(rabbit),
    async close() {
      await pool.end();
      await Promise.all([rabbit.close(), postgres.close()]);
    },
  };
}

const MIGRATE =
  "import fields; from django.core.management import call_command; call_command('migrate', verbosity=0); print(0)";

/** Django's table has neither queues nor numbers of attempts. */
const IN_DJANGO = {
  state: 90,
  name: 90,
  args: 90,
  kwargs: 90,
  queue: 0,
  worker: 90,
  retries: 0,
  finished: 90,
};

const DEPLOYMENTS = [
  { title: 'with results in Redis', sent: true, extended: true, start: withRedis },
  {
    title: 'with results in Redis, without sent events and extended results',
    sent: false,
    extended: false,
    start: withRedis,
  },
  {
    title: 'with results in PostgreSQL',
    sent: true,
    extended: true,
    surviving: IN_DJANGO,
    start: withPostgres,
  },
];

describe.skipIf(missing !== null)(titleUnless(missing, 'each field of a workload over RabbitMQ'), () => {
  describe.each(DEPLOYMENTS)('$title', checkFields);
});
