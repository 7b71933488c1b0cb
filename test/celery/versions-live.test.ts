import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { Task, TaskDetail } from '../../src/model.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { query } from '../history/telling.ts';

const missing = redisMissing ?? celeryMissing;

describe.skipIf(missing !== null)(titleUnless(missing, 'what versions of Celery tell differently'), () => {
  let redis: RedisServer;
  let app: CeleryApp;
  let sources: CelerySources;

  beforeAll(async () => {
    redis = await startRedis();
    const settings = { broker_url: redis.url(1), result_backend: redis.url(2) };
    app = celeryApp({ ...settings, worker_hijack_root_logger: false });
    sources = celerySources({ settings });
    await until(() => sources.tasks.status?.().ok === true);
    await app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '1');
  }, 120_000);

  afterAll(async () => {
    await sources?.close();
    await app?.close();
    await redis?.close();
  }, 60_000);

  /** As the worker says itself: `[5, 6]` for `py-celery 5.6.3`. */
  async function version(): Promise<readonly [number, number]> {
    const software = async (): Promise<string> =>
      (await sources.workers.listWorkers(context)).find(({ hostname }) => hostname === 'w1@alpha')
        ?.software ?? '';
    await until(async () => (await software()) !== '');
    const [major = 0, minor = 0] =
      /[\d.]+/
        .exec(await software())?.[0]
        .split('.')
        .map(Number) ?? [];
    return [major, minor];
  }

  /** The first task of this name that has failed. */
  async function failed(name: string): Promise<TaskDetail> {
    const find = async (): Promise<Task | undefined> =>
      (await sources.tasks.listTasks(query({ states: ['FAILURE'], names: [name] }), context)).tasks[0];
    await until(async () => (await find()) !== undefined);
    const task = await sources.tasks.getTask((await find())?.id ?? '', context);
    if (task === null) throw new Error(`There is no task ${name}.`);
    return task;
  }

  it('an exception that no process can send keeps its class from 5.5 on, and loses it before', async () => {
    await app.send({ name: 'shop.declined', args: [] });
    const { exception, traceback } = await failed('shop.declined');
    const [major, minor] = await version();
    if (major > 5 || minor >= 5) {
      expect(exception).toMatch(/Declined.*no cover/);
      expect(traceback).toMatch(/in declined/);
    } else {
      expect(exception).toMatch(/^<MaybeEncodingError: /);
      expect(exception).not.toContain('Declined');
    }
  });
});
