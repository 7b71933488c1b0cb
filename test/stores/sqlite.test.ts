import { expect, it } from 'vitest';
import { runTestsOn, sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { titleUnless } from '../helpers/redis-server.ts';

/** It runs many tests. */
const TIMEOUT_MS = 120_000;

it.skipIf(sqliteMissing)(
  titleUnless(sqliteMissing, 'stores in SQLite'),
  async () => {
    const { passed, failed } = await runTestsOn(sqliteNode, 'test/stores/');
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(25);
  },
  TIMEOUT_MS,
);
