import { expect, it } from 'vitest';
import { runTestsOn, sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { titleUnless } from '../helpers/redis-server.ts';

/** It runs many tests. */
const TIMEOUT_MS = 240_000;

it.skipIf(sqliteMissing)(
  titleUnless(sqliteMissing, 'stores in SQLite, and what is read from them'),
  async () => {
    const { passed, failed } = await runTestsOn(sqliteNode, 'test/stores/', 'test/history/stored-read/');
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(32);
  },
  TIMEOUT_MS,
);
