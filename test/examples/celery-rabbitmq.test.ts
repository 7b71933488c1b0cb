import { describe, expect, it } from 'vitest';
import type { SchedulesBody, WorkersBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { djangoBeatMissing } from '../helpers/django-beat.ts';
import { postgresMissing } from '../helpers/postgres.ts';
import { rabbitMissing } from '../helpers/rabbitmq.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { ALL_WELL, askAll, launchExample, statuses, waitFor } from './example-process.ts';
import { accepts, namesInGraph, portsOf, untilHealthy, untilSucceeded } from './example-services.ts';

const missing = celeryMissing ?? djangoBeatMissing ?? postgresMissing ?? rabbitMissing;

describe('examples/celery-rabbitmq', () => {
  it.skipIf(missing !== null)(
    titleUnless(missing, 'answers all its routes about a Django shop, and ends what it started'),
    async () => {
      const example = await launchExample('celery-rabbitmq');
      const { base } = example;
      const order = await untilSucceeded(example, 'tasks.complete_order');
      const { body: workers } = await waitFor(
        () => ask<WorkersBody>(base, '/api/workers/'),
        ({ body }) => body.workers?.filter(({ status }) => status === 'online').length === 2,
        60_000,
      );
      expect(workers.workers.map(({ hostname }) => hostname.split('@')[0])).toEqual(['media', 'orders']);
      await untilHealthy(example);
      expect(statuses(await askAll(base))).toEqual({ ...ALL_WELL, '/metrics': 404 });
      const { body: schedules } = await waitFor(
        () => ask<SchedulesBody>(base, '/api/beat/schedules/'),
        ({ body }) => body.schedules?.some(({ last_run_at }) => last_run_at !== null),
        60_000,
      );
      expect(schedules.schedules.map(({ name, next_run_at }) => [name, next_run_at !== null])).toEqual([
        ['celery.backend_cleanup', true],
        ['sync-stock', true],
        ['weekly-report', true],
      ]);
      expect(await namesInGraph(example, order)).toContain('tasks.place_order');
      const ports = portsOf(example);
      expect(ports).toHaveLength(2);
      expect((await example.end('SIGINT')).code).toBe(0);
      for (const port of ports) expect(await accepts(port)).toBe(false);
    },
    240_000,
  );
});
