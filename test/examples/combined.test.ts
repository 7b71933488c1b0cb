import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { celerySources } from '../../src/celery.ts';
import { combineSources } from '../../src/index.ts';
import type { SchedulesBody, TasksBody, WorkersBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';
import { ALL_WELL, askAll, launchExample, statuses, waitFor } from './example-process.ts';
import { namesInGraph, untilHealthy, untilSucceeded } from './example-services.ts';

const missing = redisMissing ?? celeryMissing;
const SOURCES = ['bullmq', 'celery'];

describe('the sources of two examples', () => {
  it.skipIf(missing !== null)(
    titleUnless(missing, "answer all routes about Python's and Node's workers together"),
    async () => {
      const redis = await startRedis();
      onTestFinished(() => redis.close());
      const REDIS_URL = redis.url();
      await Promise.all(['celery', 'bullmq'].map((name) => launchExample(name, { REDIS_URL })));
      const queues = ['orders', 'mail', 'photos'].map(
        (name) => new Queue(name, { connection: { url: REDIS_URL } }),
      );
      for (const queue of queues) queue.on('error', () => {});
      onTestFinished(async () => {
        await Promise.all(queues.map((queue) => queue.close()));
      });
      const host = await serve(EXPRESS, {
        sources: combineSources(
          celerySources({ broker: REDIS_URL, backend: REDIS_URL }),
          bullmqSources({ queues }),
        ),
      });
      const { base } = host;
      const celeryOrder = await untilSucceeded(host, 'tasks.complete_order');
      const bullmqOrder = await untilSucceeded(host, 'complete-order');
      await untilHealthy(host);
      expect(statuses(await askAll(base))).toEqual({ ...ALL_WELL, '/metrics': 404 });

      const sourcesOf = (rows: readonly { readonly source: string }[]): readonly string[] =>
        [...new Set(rows.map(({ source }) => source))].toSorted();
      const { body: list } = await ask<TasksBody>(base, '/api/tasks/?limit=1000');
      expect(sourcesOf(list.tasks)).toEqual(SOURCES);
      expect(list.sources.map(({ name, ok }) => [name, ok]).toSorted()).toEqual(
        SOURCES.map((name) => [name, true]),
      );
      await waitFor(
        () => ask<WorkersBody>(base, '/api/workers/'),
        ({ body }) => sourcesOf(body.workers).length === 2,
        60_000,
      );
      await waitFor(
        () => ask<SchedulesBody>(base, '/api/beat/schedules/'),
        ({ body }) => sourcesOf(body.schedules).length === 2,
        60_000,
      );
      expect(await namesInGraph(host, celeryOrder)).toContain('tasks.place_order');
      expect(await namesInGraph(host, bullmqOrder)).toEqual(
        expect.arrayContaining(['complete-order', 'charge']),
      );
    },
    240_000,
  );
});
