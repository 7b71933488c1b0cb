import { describe, expect, it } from 'vitest';
import type { GraphBody, SchedulesBody, TasksBody, WorkersBody } from '../../src/wire.ts';
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

const FILE = 'examples/both/start.mjs';
const SOURCES = ['bullmq', 'celery'];

describe('examples/both', () => {
  it.skipIf(celeryMissing !== null)(
    titleUnless(
      celeryMissing,
      "answers all eleven routes about Python's and Node's workers together, and ends what it started",
    ),
    async () => {
      const exporter = await startExporter(healthy);
      const example = await startExample(FILE, { METRICS_URL: exporter.url, REDIS_URL: undefined });
      const { base } = example;
      const sourcesOf = (rows: readonly { readonly source: string }[]): readonly string[] =>
        [...new Set(rows.map(({ source }) => source))].toSorted();
      await untilSucceeded(example, 'tasks.complete_order');
      await untilSucceeded(example, 'complete-order');
      await untilHealthy(example);
      expect(statuses(await askAll(base))).toEqual(ALL_WELL);

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
      const names = new Set<string | null>();
      for (const path of await graphPaths(example, 2)) {
        const { body: graph } = await ask<GraphBody>(base, path);
        for (const { task_name: name } of graph.nodes) names.add(name);
      }
      expect([...names]).toEqual(expect.arrayContaining(['tasks.place_order', 'complete-order', 'charge']));

      const redis = redisPortOf(example);
      expect((await example.end('SIGTERM')).code).toBe(0);
      expect(await accepts(redis)).toBe(false);
    },
    240_000,
  );
});
