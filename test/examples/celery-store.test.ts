import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { startExample, waitFor } from './example-process.ts';
import { celeryMissing, untilSucceeded } from './example-services.ts';

const FILE = 'examples/celery/start.mjs';
const missing = celeryMissing ?? sqliteMissing;

describe('examples/celery with STORE', () => {
  it.skipIf(missing)(
    titleUnless(missing, 'shows after a restart what an earlier run did, on another Redis'),
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'monitor-store-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const STORE = join(folder, 'monitor.db');
      const first = await startExample(FILE, { REDIS_URL: undefined, STORE }, sqliteNode);
      await untilSucceeded(first, 'tasks.complete_order');
      const done = '/api/tasks/?name=tasks.complete_order&state=SUCCESS&sort=finished&order=asc&limit=1';
      const { body: list } = await ask<TasksBody>(first.base, done);
      const path = `/api/tasks/${list.tasks[0]?.task_id}/`;
      // The result may come before the events, which have the rest.
      const { body: before } = await waitFor(
        () => ask<TaskDetailBody>(first.base, path),
        ({ body }) => body.runtime !== null,
      );
      expect((await first.end('SIGINT')).code).toBe(0);
      expect(statSync(STORE).mode & 0o777).toBe(0o600);

      const second = await startExample(FILE, { REDIS_URL: undefined, STORE }, sqliteNode);
      const { body: after } = await waitFor(
        () => ask<TaskDetailBody>(second.base, path),
        ({ status }) => status === 200,
      );
      const { worker, runtime, received, timeline } = before;
      expect(after).toMatchObject({ name: 'tasks.complete_order', worker, runtime, received, timeline });
      expect((await second.end('SIGINT')).code).toBe(0);
    },
    240_000,
  );

  it.skipIf(sqliteNode === process.execPath)('says which Node it needs where this one has no SQLite', () => {
    const { status, stderr } = spawnSync(process.execPath, [FILE], {
      env: { ...process.env, REDIS_URL: 'redis://127.0.0.1:1', STORE: 'monitor.db' },
      timeout: 120_000,
    });
    expect(status).toBe(1);
    expect(stderr.toString()).toMatch(/Node 22\.13 or later|needs Celery/);
  });
});
