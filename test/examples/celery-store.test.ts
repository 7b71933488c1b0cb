import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ComponentsBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { type Example, startExample, waitFor } from './example-process.ts';
import { celeryMissing, untilSucceeded } from './example-services.ts';

const FILE = 'examples/celery/start.mjs';
const missing = celeryMissing ?? sqliteMissing;

/** Waits until its history ends a write that has not ended yet. */
async function untilWritten({ base }: Example): Promise<void> {
  const lastWrite = async (): Promise<unknown> =>
    (await ask<ComponentsBody>(base, '/api/components/')).body['celery.history.store']?.config?.last_write;
  const before = await lastWrite();
  await waitFor(lastWrite, (last) => typeof last === 'string' && last !== before);
}

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
      // Of what is written while it ends, a busy machine may leave some out.
      for (let writes = 0; writes < 2; writes += 1) await untilWritten(first);
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
