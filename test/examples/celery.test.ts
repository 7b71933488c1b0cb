import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { GraphBody, HealthBody, TasksBody, WorkersBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { healthy, startExporter } from '../metrics/fake-exporter.ts';
import { ALL_WELL, askAll, startExample, statuses, waitFor } from './example-process.ts';

const FILE = 'examples/celery/start.mjs';
const hasCelery = ['python3', '/usr/bin/python3'].some(
  (python) => spawnSync(python, ['-c', 'import celery, redis']).status === 0,
);
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
const ready = hasCelery && hasRedis;
const reason = ready ? '' : ' (skipped: install redis-server python3-celery python3-redis)';

/** Whether something listens on a port of this machine. */
async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('examples/celery', () => {
  it.skipIf(!ready)(
    `answers all eleven routes about real workers, and ends what it started${reason}`,
    async () => {
      const exporter = await startExporter(healthy);
      const { base, printed, end } = await startExample(FILE, {
        METRICS_URL: exporter.url,
        REDIS_URL: undefined,
      });
      const { body: workers } = await waitFor(
        () => ask<WorkersBody>(base, '/api/workers/'),
        ({ body }) => body.workers?.filter(({ status }) => status === 'online').length === 2,
        60_000,
      );
      expect(workers.workers.map(({ hostname }) => hostname.split('@')[0])).toEqual(['media', 'orders']);
      await waitFor(
        () => ask<TasksBody>(base, '/api/tasks/?name=tasks.complete_order&state=SUCCESS&limit=1'),
        ({ body }) => body.tasks.length === 1,
        60_000,
      );
      expect(statuses(await askAll(base))).toEqual(ALL_WELL);
      const { body: health } = await ask<HealthBody>(base, '/healthcheck');
      expect(health.checks.workers?.responding).toHaveLength(2);
      await waitFor(printed, (text) => text.includes('/graph/'));
      const order = /\/api\/tasks\/[\w-]+\/graph\//.exec(printed())?.[0] ?? '';
      const { body: graph } = await ask<GraphBody>(base, order);
      expect(graph.nodes.map(({ task_name }) => task_name)).toContain('tasks.place_order');
      const redis = Number(/redis:\/\/127\.0\.0\.1:(\d+)/.exec(printed())?.[1]);
      expect(await accepts(redis)).toBe(true);
      expect((await end('SIGINT')).code).toBe(0);
      expect(await accepts(redis)).toBe(false);
    },
    180_000,
  );

  it('says what is missing and how to install it', () => {
    const ask = (env: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, [FILE], { env: { ...process.env, ...env }, timeout: 60_000 });
    // No Python, or no Redis, is found on such a PATH.
    const nothing = ask({ PATH: '/nonexistent', REDIS_URL: undefined });
    expect(nothing.status).toBe(1);
    expect(nothing.stderr.toString()).toMatch(
      /^This example needs (Celery|Redis): .*apt install (python3-celery|redis-server)/,
    );
  });
});
