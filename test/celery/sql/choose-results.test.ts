import { describe, expect, it } from 'vitest';
import { celerySources } from '../../../src/celery.ts';
import { chooseSqlResults } from '../../../src/sources/celery/backends/sql/choose-results.ts';

const sql = { dialect: 'postgres', query: () => [] } as const;

describe('results in a database of the app', () => {
  it.each([
    ['no backend', undefined, {}, { writer: null }],
    ['a backend of Django', 'django-db', {}, { writer: 'django' }],
    ['its class', 'django_celery_results.backends.DatabaseBackend', {}, { writer: 'django' }],
    ['a URL of SQLAlchemy', 'db+postgresql://me:SECRET@h/d', {}, { writer: 'sqlalchemy' }],
    ['one of the settings', undefined, { result_backend: 'database' }, { writer: 'sqlalchemy' }],
    ['results that are not wanted', null, { result_backend: 'django-db' }, null],
    ['a Redis', 'redis://h', { result_backend: 'django-db' }, null],
    ['a Redis of the settings', undefined, { result_backend: 'redis://h' }, null],
    ['rpc in the settings', undefined, { result_backend: 'rpc://' }, null],
    ['a client', {}, {}, null],
  ])('are read as %s says', (_, backend, settings, chosen) => {
    expect(chooseSqlResults(backend, settings, true)).toEqual(chosen);
  });

  it.each([undefined, null, 'redis://h'])('are not read without the option: %j', (backend) => {
    expect(chooseSqlResults(backend, { result_backend: 'django-db' }, false)).toBe(null);
  });

  it.each([
    ['django-db', /names results in a database of the app.*Write sql: \{ dialect: 'postgres'/],
    ['db+postgresql://me:SECRET@h/d', /are read with the option 'sql'/],
    ['rpc://', /'backend' begins with rpc:, whose results are messages that only the client/],
    ['cache+memcached://SECRET', /'backend' begins with cache:, whose results cannot be read/],
    ['mongodb://me:SECRET@h', /begins with mongodb:.*remove 'backend'/],
  ])('are asked for in plain words where the option says %s', (backend, message) => {
    const open = () => celerySources({ broker: 'redis://127.0.0.1:1', backend });
    expect(open).toThrow(TypeError);
    expect(open).toThrow(message);
    expect(open).not.toThrow(/SECRET/);
  });

  it('need no broker that can be read, as results in Redis do not', async () => {
    await celerySources({ broker: 'sqs://', sql }).close();
    expect(() => celerySources({ broker: 'sqs://', sql, backend: null })).toThrow(/begins with sqs:/);
  });
});
