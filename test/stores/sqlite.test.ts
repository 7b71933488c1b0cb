import { it } from 'vitest';
import { sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { expectStoresOn, TIMEOUT_MS } from './other-node.ts';

it.skipIf(sqliteMissing)(
  titleUnless(sqliteMissing, 'stores in SQLite, and what is read from them, pass each of their tests'),
  () => expectStoresOn(sqliteNode),
  TIMEOUT_MS,
);
