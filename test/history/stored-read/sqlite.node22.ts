import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createSqliteStore } from '../../../src/stores/sqlite/create-sqlite-store.ts';
import { runs } from '../../helpers/cases.ts';
import { describeSameReads } from './same-reads-of-sql.ts';

const NUM_RUNS = runs(50);
const THREAD = new URL('../../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);

const folder = mkdtempSync(join(tmpdir(), 'monitor-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true }));

const store = createSqliteStore({
  path: join(folder, 'monitor.db'),
  thread: THREAD,
  retention: { taskDays: 7, rollupDays: 90 },
  isReadOnly: false,
  deployment: null,
});
describeSameReads('memory and a SQLite', () => store, NUM_RUNS);
