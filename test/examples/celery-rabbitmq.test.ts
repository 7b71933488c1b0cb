import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { GraphBody, SchedulesBody, WorkersBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { celeryMissing } from '../helpers/celery-app.ts';
import { djangoBeatMissing } from '../helpers/django-beat.ts';
import { postgresMissing } from '../helpers/postgres.ts';
import { rabbitMissing } from '../helpers/rabbitmq.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { healthy, startExporter } from '../metrics/fake-exporter.ts';
import { ALL_WELL, askAll, startExample, statuses, waitFor } from './example-process.ts';
import { accepts, graphPaths, untilHealthy, untilSucceeded } from './example-services.ts';

const FILE = 'examples/celery-rabbitmq/start.mjs';
const missing = celeryMissing ?? djangoBeatMissing ?? postgresMissing ?? rabbitMissing;

describe('examples/celery-rabbitmq', () => {
  it.skipIf(missing !== null)(
    titleUnless(missing, 'answers all eleven routes about a Django shop, and ends what it started'),
    async () => {
      const exporter = await startExporter(healthy);
      const own = { AMQP_URL: undefined, DATABASE_URL: undefined, METRICS_URL: exporter.url };
      const example = await startExample(FILE, own);
      const { base } = example;
      await untilSucceeded(example, 'tasks.complete_order');
      const { body: workers } = await waitFor(
        () => ask<WorkersBody>(base, '/api/workers/'),
        ({ body }) => body.workers?.filter(({ status }) => status === 'online').length === 2,
        60_000,
      );
      expect(workers.workers.map(({ hostname }) => hostname.split('@')[0])).toEqual(['media', 'orders']);
      await untilHealthy(example);
      expect(statuses(await askAll(base))).toEqual(ALL_WELL);
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
      const [order = ''] = await graphPaths(example);
      const { body: graph } = await ask<GraphBody>(base, order);
      expect(graph.nodes.map(({ task_name }) => task_name)).toContain('tasks.place_order');
      const ports = [...example.printed().matchAll(/(?:amqp|postgres):\/\/127\.0\.0\.1:(\d+)/g)];
      expect(ports).toHaveLength(2);
      expect((await example.end('SIGINT')).code).toBe(0);
      for (const [, port] of ports) expect(await accepts(Number(port))).toBe(false);
    },
    240_000,
  );

  it('says what is missing and how to install it', () => {
    const { status, stderr } = spawnSync(process.execPath, [FILE], {
      env: {
        PATH: '/nonexistent',
        PYTHON: '/nonexistent',
        RABBITMQ_SERVER_BIN: '/nonexistent',
        POSTGRES_BIN: '/nonexistent',
      },
      timeout: 120_000,
    });
    expect(status).toBe(1);
    expect(stderr.toString()).toMatch(/This example needs RabbitMQ: .*apt install rabbitmq-server/);
    expect(stderr.toString()).toMatch(/This example needs PostgreSQL: .*apt install postgresql/);
  });
});
