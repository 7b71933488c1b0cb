import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createSqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { describeSameReads } from './same-reads.ts';

const THREAD = new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);

const folder = mkdtempSync(join(tmpdir(), 'monitor-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true }));

describeSameReads(
  'a history in a small memory and a SQLite',
  (taskDays) =>
    createSqliteStore({
      path: join(folder, 'monitor.db'),
      thread: THREAD,
      retention: { taskDays, rollupDays: 90 },
      isReadOnly: false,
      deployment: null,
    }),
  6,
);
