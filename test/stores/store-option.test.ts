import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { createArrayStore } from '../helpers/array-store.ts';

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
