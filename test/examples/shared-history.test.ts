import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { postgresMissing } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { startExample, waitFor } from './example-process.ts';
import { accepts } from './example-services.ts';

const FILE = 'examples/shared-history/start.mjs';

describe('examples/shared-history', () => {
  it.skipIf(postgresMissing)(
    titleUnless(postgresMissing, 'shows the tasks of both instances on both, and ends what it started'),
    async () => {
      const example = await startExample(FILE, { DATABASE_URL: undefined });
      const bases = [...example.printed().matchAll(/http:\S+\/monitor(?=\/$)/gm)].map(([url]) => url);
      expect(bases).toHaveLength(2);
      for (const base of bases) {
        for (const worker of ['blue', 'green']) {
          const { body } = await waitFor(
            () => ask<TasksBody>(base, `/api/tasks/?worker=${worker}&state=SUCCESS&limit=1`),
            ({ body }) => body.tasks?.length === 1,
          );
          const id = body.tasks[0]?.task_id ?? '';
          const { body: task } = await ask<TaskDetailBody>(base, `/api/tasks/${id}/`);
          expect(task).toMatchObject({ name: 'mail.send', worker, kwargs: expect.stringContaining('***') });
        }
      }
      const database = Number(/@127\.0\.0\.1:(\d+)/.exec(example.printed())?.[1]);
      expect(await accepts(database)).toBe(true);
      expect(await example.end('SIGINT')).toEqual({ code: 0, stderr: '' });
      expect(await accepts(database)).toBe(false);
    },
    120_000,
  );

  it('says what is missing and how to install it', () => {
    const { status, stderr } = spawnSync(process.execPath, [FILE], {
      env: { PATH: '/nonexistent', POSTGRES_BIN: '/nonexistent' },
      timeout: 60_000,
    });
    expect(status).toBe(1);
    expect(stderr.toString()).toMatch(/^This example needs PostgreSQL: .*apt install postgresql/);
  });
});
