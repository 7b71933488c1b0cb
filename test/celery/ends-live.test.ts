import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { Task } from '../../src/model.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { query } from '../history/telling.ts';

const missing = redisMissing ?? celeryMissing;

describe.skipIf(missing !== null)(titleUnless(missing, 'tasks that end without a message'), () => {
  let redis: RedisServer;
  let app: CeleryApp;
  let sources: CelerySources;

  beforeAll(async () => {
    redis = await startRedis();
    const settings = { broker_url: redis.url(1), result_backend: redis.url(2), task_track_started: true };
    app = celeryApp({ ...settings, worker_hijack_root_logger: false });
    await app.worker('-n', 'w1@alpha', '-P', 'threads', '-c', '4');
    // The monitor was started after these: it knows them from their stored results alone.
    await app.send({ name: 'shop.ignored', args: [] }, { name: 'shop.rejected', args: [] });
    await app.send({ name: 'shop.slow', args: [300] });
    sources = celerySources({ settings });
    await until(() => sources.tasks.status?.().ok === true);
    await app.send({ name: 'shop.ignored', args: [] }, { name: 'shop.stuck', args: [] });
  }, 60_000);

  afterAll(async () => {
    await sources?.close();
    await app?.close();
    await redis?.close();
  }, 30_000);

  const tasks = async (): Promise<readonly Task[]> =>
    (await sources.tasks.listTasks(query({}), context)).tasks;
  const flagged = async (): Promise<Task[]> =>
    (await tasks()).filter(({ flags }) => flags?.includes('end_unseen') === true);

  it('are flagged, also after a restart of the monitor, and one that runs is not', async () => {
    await until(async () => (await flagged()).length === 4, 90_000);
    const { open } = (await sources.experimental.getActivity?.(context)) ?? {};
    expect((await tasks()).map(({ state }) => state).sort()).toEqual([
      ...['STARTED', 'STARTED', 'STARTED', 'STARTED', 'WAITING_FOR_GODOT'],
    ]);
    expect(open?.running).toHaveLength(1);
    const stats = await sources.tasks.getTaskStats?.(
      { minutes: 60, now: new Date(), filter: query({}) },
      context,
    );
    expect(stats?.states).toEqual({ STARTED: 1 });
  }, 100_000);
});
