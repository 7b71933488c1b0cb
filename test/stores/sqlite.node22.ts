import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createSqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { storeContract } from './contract.ts';

const THREAD = new URL('../../src/stores/sqlite/sqlite-thread.ts', import.meta.url);

const folder = mkdtempSync(join(tmpdir(), 'monitor-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true }));

storeContract('SQLite', () => ({
  createStore: () =>
    createSqliteStore({
      path: join(folder, 'monitor.db'),
      thread: THREAD,
      retention: { taskDays: 7, rollupDays: 90 },
      isReadOnly: false,
      deployment: null,
    }),
}));
