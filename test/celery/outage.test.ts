import express from 'express';
import { expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { createMonitorRouter } from '../../src/index.ts';
import type { SourceBody, TaskBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { received } from '../helpers/celery-events.ts';
import { listen } from '../helpers/hosts.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

interface TasksBody {
  readonly tasks: readonly TaskBody[];
  readonly sources: readonly SourceBody[];
}

const OUTAGE_MS = 10_000;

it.skipIf(redisMissing !== null)(
  titleUnless(
    redisMissing,
    'a Redis that is away for ten seconds costs neither the host nor the data, and events go on by themselves',
  ),
  { timeout: 120_000 },
  async ({ annotate }) => {
    const redis = await startRedis();
    const router = createMonitorRouter({
      sources: celerySources({ broker: redis.url(), backend: redis.url(1) }),
      authorize: false,
    });
    const app = express();
    app.use('/monitor', router);
    app.get('/alive', (_, response) => void response.send('yes'));
    const server = await listen(app);
    const base = `${server.url}/monitor`;
    const tasks = async (): Promise<{ status: number; body: TasksBody }> =>
      await ask<TasksBody>(base, '/api/tasks/');

    // Publishes a task every 50 ms, as long as Redis takes it: what a worker would do.
    const publisher = createClient({
      url: redis.url(),
      socket: { reconnectStrategy: 50 },
      disableOfflineQueue: true,
    });
    publisher.on('error', () => {});
    await publisher.connect();
    let published = 0;
    const busy = setInterval(() => {
      if (publisher.isReady) {
        publisher.publish('/0.celeryev/task.multi', received(`task-${published++}`)).catch(() => {});
      }
    }, 50);

    try {
      await until(async () => (await tasks()).body.tasks?.length > 3);
      const cursor = (await ask<{ cursor: string }>(base, '/api/events/latest/?limit=1')).body.cursor;

      await redis.kill();
      const killedAt = Date.now();
      const answers: {
        status: number;
        ok: boolean | undefined;
        asOf: number;
        count: number;
        took: number;
      }[] = [];
      while (Date.now() - killedAt < OUTAGE_MS) {
        const asked = performance.now();
        const { status, body } = await tasks();
        const source = body.sources?.[0];
        const asOf = Date.parse(source?.as_of ?? '');
        answers.push({
          status,
          ok: source?.ok,
          asOf,
          count: body.tasks.length,
          took: performance.now() - asked,
        });
        const health = await ask<{ checks: { broker: { error: string | null } } }>(base, '/healthcheck');
        expect(health.status).toBe(503);
        expect((await ask(server.url, '/alive', { ours: false })).text).toBe('yes');
        await new Promise((resolve) => setTimeout(resolve, 100));
      }

      // The last data, which says that it is old and how old. The first answer may come before anybody noticed.
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect(answers.slice(1).every(({ ok }) => ok === false)).toBe(true);
      expect(answers.every(({ asOf }) => asOf <= killedAt + 100)).toBe(true);
      expect(answers.every(({ count }) => count > 3)).toBe(true);
      expect(Math.max(...answers.map(({ took }) => took))).toBeLessThan(30_000);

      const before = published;
      await redis.start();
      const backAt = Date.now();
      await until(
        async () => (await tasks()).body.tasks.some(({ task_id: id }) => Number(id.slice(5)) >= before),
        30_000,
      );
      const recovery = Date.now() - backAt;
      await annotate(`events flowed again ${recovery} ms after Redis was back`);
      expect((await tasks()).body.sources).toMatchObject([{ name: 'celery', ok: true, error: null }]);
      expect((await ask<{ gap: boolean }>(base, `/api/events/latest/?since=${cursor}`)).body.gap).toBe(true);
      await until(async () => (await ask(base, '/healthcheck?checks=broker,backend')).status === 200);
    } finally {
      clearInterval(busy);
      publisher.destroy();
      await router.close();
      await server.close();
      await redis.close();
    }
  },
);
