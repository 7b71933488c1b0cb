import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { GraphBody, HealthBody, TaskDetailBody, TasksBody, WorkersBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { healthy, startExporter } from '../metrics/fake-exporter.ts';
import { ALL_WELL, askAll, startExample, statuses, waitFor } from './example-process.ts';
import {
  accepts,
  celeryMissing,
  graphPaths,
  redisPortOf,
  untilHealthy,
  untilSucceeded,
} from './example-services.ts';

const FILE = 'examples/celery/start.mjs';

describe('examples/celery', () => {
  it.skipIf(celeryMissing !== null)(
    titleUnless(celeryMissing, 'answers all eleven routes about real workers, and ends what it started'),
    async () => {
      const exporter = await startExporter(healthy);
      const example = await startExample(FILE, { METRICS_URL: exporter.url, REDIS_URL: undefined });
      const { base } = example;
      const { body: workers } = await waitFor(
        () => ask<WorkersBody>(base, '/api/workers/'),
        ({ body }) => body.workers?.filter(({ status }) => status === 'online').length === 2,
        60_000,
      );
      expect(workers.workers.map(({ hostname }) => hostname.split('@')[0])).toEqual(['media', 'orders']);
      await untilSucceeded(example, 'tasks.complete_order');
      await untilHealthy(example);
      expect(statuses(await askAll(base))).toEqual(ALL_WELL);
      const { body: health } = await ask<HealthBody>(base, '/healthcheck');
      expect(health.checks.workers?.responding).toHaveLength(2);
      const [order = ''] = await graphPaths(example);
      const { body: graph } = await ask<GraphBody>(base, order);
      expect(graph.nodes.map(({ task_name }) => task_name)).toContain('tasks.place_order');
      const { body: figures } = await ask<TasksBody>(base, '/api/tasks/?stats=60&limit=0');
      expect(figures.stats?.markers).toMatchObject([{ text: 'app started' }]);
      // While it runs: its result takes the place of its progress.
      const running = await waitFor(
        async () => (await ask<TasksBody>(base, '/api/tasks/?state=PROGRESS&name=tasks.render_invoice')).body,
        ({ tasks }) => tasks.some(({ progress }) => progress !== null),
        60_000,
      );
      const invoice = running.tasks.find(({ progress }) => progress !== null);
      expect(invoice?.progress).toMatchObject({ total: 3, text: expect.stringMatching(/^page [123]$/) });
      const { body: task } = await ask<TaskDetailBody>(base, `/api/tasks/${invoice?.task_id}/`);
      expect(task.links).toEqual([{ text: 'This task as JSON', url: `api/tasks/${invoice?.task_id}/` }]);
      const redis = redisPortOf(example);
      expect(await accepts(redis)).toBe(true);
      expect((await example.end('SIGINT')).code).toBe(0);
      expect(await accepts(redis)).toBe(false);
    },
    180_000,
  );

  it('says what is missing and how to install it', () => {
    const ask = (env: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, [FILE], { env: { ...process.env, ...env }, timeout: 120_000 });
    // No Python, or no Redis, is found on such a PATH.
    const nothing = ask({ PATH: '/nonexistent', REDIS_URL: undefined });
    expect(nothing.status).toBe(1);
    expect(nothing.stderr.toString()).toMatch(
      /^This example needs (Celery|Redis): .*apt install (python3-celery|redis-server)/,
    );
  });
});
