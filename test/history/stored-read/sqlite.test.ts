import { expect, it } from 'vitest';
import { runTestsOn, sqliteMissing, sqliteNode } from '../../helpers/other-node.ts';
import { titleUnless } from '../../helpers/redis-server.ts';

/** It runs many histories. */
const TIMEOUT_MS = 240_000;

it.skipIf(sqliteMissing)(
  titleUnless(sqliteMissing, 'memory and a SQLite are read like one memory that holds everything'),
  async () => {
    const { passed, failed } = await runTestsOn(sqliteNode, 'test/history/stored-read/');
    expect(failed).toEqual([]);
    expect(passed).toBe(7);
  },
  TIMEOUT_MS,
);
