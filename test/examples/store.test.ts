import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ComponentsBody, TaskDetailBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { sqliteMissing, sqliteNode } from '../helpers/other-node.ts';
import { postgresMissing } from '../helpers/postgres.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { type Example, launchExample, startExample, waitFor } from './example-process.ts';
import { accepts, portsOf, untilSucceeded } from './example-services.ts';

const FILE = 'examples/store/server.mjs';
const missing = redisMissing ?? celeryMissing;

/** Waits until its history ends a write that has not ended yet. */
async function untilWritten({ base }: Example): Promise<void> {
  const lastWrite = async (): Promise<unknown> =>
    (await ask<ComponentsBody>(base, '/api/components/')).body['celery.history.store']?.config?.last_write;
  const before = await lastWrite();
  await waitFor(lastWrite, (last) => typeof last === 'string' && last !== before);
}

describe('examples/store', () => {
  it.skipIf(missing ?? postgresMissing)(
    titleUnless(
      missing ?? postgresMissing,
      'shows the same tasks on both instances, and ends what it started',
    ),
    async () => {
      const example = await launchExample('store');
      const bases = await waitFor(
        () => [...example.printed().matchAll(/http:\S+\/monitor(?=\/$)/gm)].map(([url]) => url),
        (found) => found.length === 2,
      );
      for (const base of bases) {
        const id = await untilSucceeded({ base }, 'tasks.charge');
        for (const other of bases) {
          const { body: task } = await waitFor(
            () => ask<TaskDetailBody>(other, `/api/tasks/${id}/`),
            ({ body }) => body.state === 'SUCCESS',
          );
          const kwargs = expect.stringContaining('***');
          expect(task).toMatchObject({ name: 'tasks.charge', worker: expect.any(String), kwargs });
        }
      }
      const components = await Promise.all(
        bases.map((base) => ask<ComponentsBody>(base, '/api/components/')),
      );
      const holders = components.map(({ body }) => body['celery.history.store']?.config?.is_holder);
      expect(holders.toSorted()).toEqual([false, true]);

      const ports = portsOf(example);
      expect(ports).toHaveLength(2);
      for (const port of ports) expect(await accepts(port)).toBe(true);
      expect((await example.end('SIGINT')).code).toBe(0);
      for (const port of ports) expect(await accepts(port)).toBe(false);
    },
    240_000,
  );

  it.skipIf(missing ?? sqliteMissing)(
    titleUnless(missing ?? sqliteMissing, 'shows after a restart what an earlier run did, on another Redis'),
    async () => {
      const [redis, another] = await Promise.all([startRedis(), startRedis()]);
      onTestFinished(async () => {
        await Promise.all([redis.close(), another.close()]);
      });
      const folder = mkdtempSync(join(tmpdir(), 'monitor-store-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const SQLITE_FILE = join(folder, 'monitor.db');
      const own = { DATABASE_URL: undefined, SQLITE_FILE };
      const first = await startExample([FILE], { ...own, REDIS_URL: redis.url() }, sqliteNode);
      const app = celeryApp({ broker_url: redis.url(), result_backend: redis.url() });
      onTestFinished(() => app.close());
      await app.worker();
      await app.send({ name: 'shop.add', args: [1, 2] });
      const path = `/api/tasks/${await untilSucceeded(first, 'shop.add')}/`;
      // The result may come before the events, which have the rest.
      const { body: before } = await waitFor(
        () => ask<TaskDetailBody>(first.base, path),
        ({ body }) => body.runtime !== null,
      );
      // Of what is written while it ends, a busy machine may leave some out.
      for (let writes = 0; writes < 2; writes += 1) await untilWritten(first);
      expect((await first.end('SIGTERM')).code).toBe(0);
      expect(statSync(SQLITE_FILE).mode & 0o777).toBe(0o600);

      const second = await startExample([FILE], { ...own, REDIS_URL: another.url() }, sqliteNode);
      const { body: after } = await waitFor(
        () => ask<TaskDetailBody>(second.base, path),
        ({ status }) => status === 200,
      );
      const { worker, runtime, received, timeline } = before;
      expect(after).toMatchObject({ name: 'shop.add', worker, runtime, received, timeline });
      expect((await second.end('SIGTERM')).code).toBe(0);
    },
    240_000,
  );

  it.skipIf(sqliteNode === process.execPath)('says which Node it needs where this one has no SQLite', () => {
    const { status, stderr } = spawnSync(process.execPath, [FILE], {
      env: { ...process.env, DATABASE_URL: undefined },
      timeout: 120_000,
    });
    expect(status).toBe(1);
    expect(stderr.toString()).toMatch(/Node 22\.13 or later/);
  });
});
