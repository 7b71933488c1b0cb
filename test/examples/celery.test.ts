import { describe, expect, it } from 'vitest';
import type { HealthBody, TasksBody, WorkersBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { ALL_WELL, askAll, launchExample, statuses, waitFor } from './example-process.ts';
import { accepts, namesInGraph, portsOf, untilHealthy, untilSucceeded } from './example-services.ts';

const missing = redisMissing ?? celeryMissing;

describe('examples/celery', () => {
  it.skipIf(missing !== null)(
    titleUnless(missing, 'answers all its routes about real workers, and ends what it started'),
    async () => {
      const example = await launchExample('celery');
      const { base } = example;
      const { body: workers } = await waitFor(
        () => ask<WorkersBody>(base, '/api/workers/'),
        ({ body }) => body.workers?.filter(({ status }) => status === 'online').length === 2,
        60_000,
      );
      expect(workers.workers.map(({ hostname }) => hostname.split('@')[0])).toEqual(['media', 'orders']);
      const order = await untilSucceeded(example, 'tasks.complete_order');
      await untilHealthy(example);
      expect(statuses(await askAll(base))).toEqual({ ...ALL_WELL, '/metrics': 404 });
      const { body: health } = await ask<HealthBody>(base, '/healthcheck');
      expect(health.checks.workers?.responding).toHaveLength(2);
      expect(await namesInGraph(example, order)).toContain('tasks.place_order');
      // While it runs: its result takes the place of its progress.
      const running = await waitFor(
        async () => (await ask<TasksBody>(base, '/api/tasks/?state=PROGRESS&name=tasks.render_invoice')).body,
        ({ tasks }) => tasks.some(({ progress }) => progress !== null),
        60_000,
      );
      const invoice = running.tasks.find(({ progress }) => progress !== null);
      expect(invoice?.progress).toMatchObject({ total: 3, text: expect.stringMatching(/^page [123]$/) });
      const [redis = 0] = portsOf(example);
      expect(await accepts(redis)).toBe(true);
      expect((await example.end('SIGINT')).code).toBe(0);
      expect(await accepts(redis)).toBe(false);
    },
    180_000,
  );
});
