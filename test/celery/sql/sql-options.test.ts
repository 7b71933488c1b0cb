/** The option `sql`, and which results it makes the source read. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySourcesOptions, celerySources } from '../../../src/celery.ts';
import { componentOf } from '../../helpers/celery-events.ts';
import { until } from '../../helpers/redis-server.ts';

const query = () => [];
const REDIS = 'redis://127.0.0.1:1';

/** A source with this option; what it asks the database. */
function open(sql: object, more: Partial<CelerySourcesOptions> = {}) {
  const asked: string[] = [];
  const answer = (text: string) => {
    asked.push(text);
    return [];
  };
  const options = { broker: REDIS, sql: { dialect: 'postgres', query: answer, ...sql }, ...more };
  const sources = celerySources(options as CelerySourcesOptions);
  onTestFinished(() => sources.close());
  return { sources, asked };
}

const DJANGO = /django_celery_results_/;
const SQLALCHEMY = /celery_taskmeta/;

describe("the option 'sql'", () => {
  it.each<[string, Partial<CelerySourcesOptions>, (RegExp | null)[]]>([
    ['no backend', {}, [DJANGO, SQLALCHEMY]],
    ['a backend of Django', { backend: 'django-db' }, [DJANGO, null]],
    ['its class', { backend: 'django_celery_results.backends.DatabaseBackend' }, [DJANGO, null]],
    ['a URL of SQLAlchemy', { backend: 'db+postgresql://me:SECRET@h/d' }, [null, SQLALCHEMY]],
    ['one of the settings', { settings: { result_backend: 'database' } }, [null, SQLALCHEMY]],
  ])('reads the results that %s names', async (_, more, tables) => {
    const { sources, asked } = open({}, more);
    const config = async () => (await componentOf(sources, 'backend')).config;
    expect(await config()).toMatchObject({ transport: 'postgres' });
    const found = () =>
      [DJANGO, SQLALCHEMY].map((table) => (asked.some((text) => table.test(text)) ? table : null));
    await until(() => JSON.stringify(found()) === JSON.stringify(tables) || asked.length > 20);
    expect(found()).toEqual(tables);
  });

  it.each<[string, Partial<CelerySourcesOptions>]>([
    ['results that are not wanted', { backend: null, settings: { result_backend: 'django-db' } }],
    ['a Redis', { backend: REDIS, settings: { result_backend: 'django-db' } }],
    ['a Redis of the settings', { settings: { result_backend: REDIS } }],
    ['rpc in the settings', { settings: { result_backend: 'rpc://' } }],
  ])('reads no results where the backend is %s', async (_, more) => {
    const { sources } = open({}, more);
    expect((await componentOf(sources, 'backend')).config.transport).not.toBe('postgres');
  });

  it.each([
    ['django-db', /names results in a database of the app.*Write sql: \{ dialect: 'postgres'/],
    ['db+postgresql://me:SECRET@h/d', /are read with the option 'sql'/],
    ['rpc://', /'backend' begins with rpc:, whose results are messages that only the client/],
    ['cache+memcached://SECRET', /'backend' begins with cache:, whose results cannot be read/],
    ['mongodb://me:SECRET@h', /begins with mongodb:.*remove 'backend'/],
  ])('is missed by the backend %s, in plain words', (backend, message) => {
    const create = () => celerySources({ broker: REDIS, backend });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
    expect(create).not.toThrow(/SECRET/);
  });

  it('needs no broker that can be read, as results in Redis do not', async () => {
    await celerySources({ broker: 'sqs://', sql: { dialect: 'postgres', query } }).close();
    const create = () =>
      celerySources({ broker: 'sqs://', sql: { dialect: 'postgres', query }, backend: null });
    expect(create).toThrow(/begins with sqs:/);
  });

  it('takes names of tables from the schema, the settings of Celery, and its own option, in this order', async () => {
    const settings = {
      database_table_names: { task: 'tasks' },
      database_table_schemas: { task: 'celery' },
    };
    const results = { django_celery_results_taskresult: 'other.results' };
    const rows: [name: string, sql: object, backend: string][] = [
      ['"app"."django_celery_results_taskresult"', { schema: 'app' }, 'django-db'],
      ['"celery"."tasks"', { schema: 'app' }, 'database'],
      ['"other"."results"', { schema: 'app', tables: results }, 'django-db'],
      ['"mine"', { tables: { celery_taskmeta: 'mine' } }, 'database'],
    ];
    for (const [name, sql, backend] of rows) {
      const { asked } = open(sql, { settings, backend });
      await until(() => asked.some((text) => text.includes(name)), 10_000);
    }
  });

  it.each([
    ['postgres://me:secret@host/db', /'sql' must be an object such as/],
    [{ query }, /'sql.dialect' must be 'postgres', 'mysql' or 'sqlite'; it is undefined/],
    [{ dialect: 'oracle', query }, /'sql.dialect' must be/],
    [{ dialect: 'mysql' }, /'sql.query' must be a function such as \(text, values\) => pool.execute/],
    [{ dialect: 'sqlite', query: {} }, /'sql.query' must be a function such as .*prepare/],
    [{ dialect: 'postgres', pool: {}, query }, /'sql.pool' is not an option. Write query: /],
    [{ dialect: 'postgres', query, timezone: 'Mars/Base' }, /'sql.timezone' must be the IANA name/],
    [{ dialect: 'postgres', query, schema: 'a; DROP' }, /'sql.schema' must be a name/],
    [{ dialect: 'postgres', query, tables: { results: 'x' } }, /'sql.tables.results' is not an option/],
    [
      { dialect: 'postgres', query, tables: { celery_taskmeta: 'a"b' } },
      /'sql.tables.celery_taskmeta' must be a name of letters/,
    ],
    [{ dialect: 'postgres', query, tables: { celery_taskmeta: 'a.b.c' } }, /must be a name of letters/],
  ])('refuses %j', (sql, message) => {
    const create = () => celerySources({ broker: REDIS, sql: sql as never });
    expect(create).toThrow(message);
    expect(create).toThrow(TypeError);
    expect(create).not.toThrow(/secret|DROP/);
  });

  it('refuses names of the settings that are no names', () => {
    const settings = { database_table_names: { task: 'x"; DROP TABLE y' } };
    expect(() => open({}, { settings })).toThrow(/settings.database_table_names/);
  });
});
