import { isBuiltin } from 'node:module';
import pg from 'pg';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { postgresStore } from '../../src/postgres.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { createArrayStore } from '../helpers/array-store.ts';

const pool = new pg.Pool({ connectionString: 'postgres://app:hunter2@127.0.0.1:1/shop' });

describe('the options of postgresStore', () => {
  it('are all optional', () => {
    expect(postgresStore(pool)).toMatchObject({
      engine: 'postgres',
      retention: { taskDays: 7, rollupDays: 90 },
      isReadOnly: false,
      deployment: null,
    });
  });

  it('take a client of postgres.js', () => {
    const sql = postgres('postgres://127.0.0.1:1/shop');
    const options = {
      retention: { taskDays: 30, rollupDays: 365 },
      readOnly: true,
      deployment: 'shop',
      schema: 'monitor',
      prefix: 'shop_',
    };
    expect(postgresStore(sql, options)).toMatchObject({
      retention: { taskDays: 30, rollupDays: 365 },
      isReadOnly: true,
      deployment: 'shop',
    });
  });

  it.each<[unknown, RegExp]>([
    [
      'postgres://app:hunter2@db',
      /'client' must be a Pool of the package pg, version 8, or .*; it is a string/,
    ],
    [undefined, /'client' must be a Pool .*; it is undefined/],
    [{ connectionString: 'hunter2' }, /'client' must be a Pool .*; it is an object/],
  ])('refuse the client %s', (client, message) => {
    expect(() => postgresStore(client as never)).toThrow(message);
  });

  it.each<[unknown, RegExp]>([
    [null, /^postgresStore: 'options' must be an object such as \{ retention/],
    [{ taskDays: 3 }, /'taskDays' is not an option\. Write retention: \{ taskDays \} instead/],
    [{ schem: 'x' }, /'schem' is not an option\. Did you mean 'schema'/],
    [{ path: 'x' }, /The options are: retention, readOnly, deployment, schema, prefix/],
    [{ retention: 7 }, /'retention' must be an object such as \{ taskDays: 7 \}; it is 7/],
    [{ retention: { days: 7 } }, /'retention\.days' is not an option/],
    [
      { retention: { taskDays: 0 } },
      /'retention\.taskDays' must be a whole number from 1 to 3650.*; it is 0/,
    ],
    [{ retention: { rollupDays: '90' } }, /'retention\.rollupDays' must be a whole number/],
    [{ readOnly: 'yes' }, /'readOnly' must be true or false; it is a string/],
    [{ deployment: '' }, /'deployment' must be 1 to 200 characters, such as 'shop-production'/],
    [{ deployment: 'x'.repeat(201) }, /'deployment' must be 1 to 200 characters/],
    [
      { schema: 'Monitor' },
      /'schema' must be 1 to 63 of a-z 0-9 _, not beginning with a digit, such as 'monitor'/,
    ],
    [{ schema: 'a"; DROP TABLE task' }, /'schema' must be/],
    [{ schema: 'a'.repeat(64) }, /'schema' must be/],
    [{ prefix: '1_' }, /'prefix' must be 1 to 44 of a-z 0-9 _/],
    [{ prefix: '' }, /'prefix' must be/],
    [{ prefix: 'a'.repeat(45) }, /'prefix' must be/],
    [{ prefix: 3 }, /'prefix' must be .*; it is 3/],
  ])('refuse %j and say what to write', (options, message) => {
    expect(() => postgresStore(pool, options as never)).toThrow(message);
    expect(() => postgresStore(pool, options as never)).toThrow(TypeError);
  });
});

describe('the options of sqliteStore', () => {
  it.each<[unknown, unknown, RegExp]>([
    [
      undefined,
      {},
      /^sqliteStore: 'path' must be the path of a file, such as 'monitor\.db'; it is undefined/,
    ],
    ['', {}, /'path' must be/],
    [':memory:', {}, /'path' must be/],
    ['file:monitor.db', {}, /'path' must be/],
    [
      'monitor.db',
      { prefix: 'x' },
      /'prefix' is not an option\. The options are: retention, readOnly, deployment/,
    ],
    ['monitor.db', { readOnly: 1 }, /'readOnly' must be true or false/],
    [
      'monitor.db',
      { retention: { taskDays: 3_651 } },
      /'retention\.taskDays' must be .* from 1 to 3,?650.*; it is 3651/,
    ],
  ])('refuse %j with %j', (path, options, message) => {
    expect(() => sqliteStore(path as never, options as never)).toThrow(message);
  });

  it.skipIf(isBuiltin('node:sqlite'))('say which Node has SQLite where this one has none', () => {
    expect(() => sqliteStore('monitor.db')).toThrow(
      new Error(
        `sqliteStore needs Node 22.13 or later, which has SQLite; this is Node ${process.versions.node}. Upgrade Node, ` +
          'or keep the history in PostgreSQL: postgresStore(pool) of express-task-monitor/postgres.',
      ),
    );
  });
});

const SQLITE = "sqliteStore('monitor.db') of express-task-monitor/sqlite";
const POSTGRES = 'postgresStore(pool) of express-task-monitor/postgres';

describe('the option store', () => {
  it('takes a store, or none', async () => {
    for (const store of [createArrayStore(), undefined, null]) {
      const sources = memorySources({ store } as never);
      expect(sources.components === undefined).toBe(store == null);
      await sources.close();
    }
  });

  it.each([
    ['a path', 'monitor.db', SQLITE, 'a string'],
    ['a URL', 'postgres://app:hunter2@db/monitor', POSTGRES, 'a string'],
    ['a pool of pg', { query: () => {}, password: 'hunter2' }, POSTGRES, 'an object'],
    ['a client of postgres.js', Object.assign(() => {}, { unsafe: () => {} }), POSTGRES, 'a function'],
    ['options', { path: 'hunter2' }, `${SQLITE}, or ${POSTGRES}`, 'an object'],
    ['true', true, `${SQLITE}, or ${POSTGRES}`, 'a boolean'],
  ])('says what to write instead of %s, and never what was given', (_, store, expected, kind) => {
    expect(() => memorySources({ store } as never)).toThrow(
      new TypeError(`memorySources: 'store' must be ${expected}; it is ${kind}.`),
    );
  });
});
