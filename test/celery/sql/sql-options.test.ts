import { describe, expect, it } from 'vitest';
import { readSqlOptions } from '../../../src/sources/celery/sql/sql-options.ts';

const query = () => [];

const read = (value: unknown, settings = {}) => readSqlOptions(value, settings);

describe("the option 'sql'", () => {
  it('is absent, or complete with defaults', () => {
    expect(read(undefined)).toBe(null);
    expect(read({ dialect: 'mysql', query })).toMatchObject({
      dialect: 'mysql',
      timezone: 'UTC',
      tables: { celery_taskmeta: { schema: null, name: 'celery_taskmeta' } },
    });
  });

  it('takes names of tables from the schema, the settings of Celery, and its own option, in this order', () => {
    const settings = {
      database_table_names: { task: 'tasks', group: 'groups' },
      database_table_schemas: { task: 'celery' },
    };
    const tables = { celery_tasksetmeta: 'other.sets', django_celery_beat_periodictask: 'beat' };
    expect(read({ dialect: 'postgres', query, schema: 'app', tables }, settings)?.tables).toMatchObject({
      celery_taskmeta: { schema: 'celery', name: 'tasks' },
      celery_tasksetmeta: { schema: 'other', name: 'sets' },
      django_celery_beat_periodictask: { schema: 'app', name: 'beat' },
      django_celery_results_taskresult: { schema: 'app', name: 'django_celery_results_taskresult' },
    });
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
  ])('refuses %j', (value, message) => {
    expect(() => read(value)).toThrow(message);
    expect(() => read(value)).toThrow(TypeError);
    expect(() => read(value)).not.toThrow(/secret|DROP/);
  });

  it('refuses names of the settings that are no names', () => {
    const settings = { database_table_names: { task: 'x"; DROP TABLE y' } };
    expect(() => read({ dialect: 'postgres', query }, settings)).toThrow(/settings.database_table_names/);
  });
});
