import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import type { Worker } from '../../src/model.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

const missing = redisMissing ?? celeryMissing;

/** Sends tasks as the app's client and waits for their results. */
const SEND = `
import json, sys, shop
sent = [shop.add.delay(1, 2) for _ in range(6)]
print(json.dumps([result.get(timeout=20) for result in sent]))
`;

describe.skipIf(missing !== null)(titleUnless(missing, 'hints about a running Celery'), () => {
  const ends: (() => Promise<unknown>)[] = [];
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  }, 60_000);

  afterAll(() => redis?.close());

  function appOf(settings: CelerySettings): CeleryApp {
    const app = celeryApp({ ...settings, worker_hijack_root_logger: false });
    ends.push(() => app.close());
    return app;
  }

  async function watch(...options: Parameters<typeof celerySources>): Promise<CelerySources> {
    const sources = celerySources(...options);
    ends.push(async () => sources.close());
    await until(() => sources.tasks.status?.().ok === true);
    return sources;
  }

  async function hintsOf(sources: CelerySources): Promise<string[]> {
    const keys = ['broker', 'collector', 'backend'];
    const configs = await Promise.all(keys.map(async (key) => (await componentOf(sources, key)).config));
    return configs.flatMap(({ hints }) => hints as string[]);
  }

  /** The settings that hints name. */
  const settingsIn = (hints: readonly string[]): string[] =>
    hints.flatMap((hint) => /\w+(?= = True)/.exec(hint)?.[0] ?? []);

  const send = (app: CeleryApp): Promise<unknown> => app.script('-c', SEND);

  it('name one setting of Celery after the other until all is shown', { timeout: 400_000 }, async () => {
    const urls = { broker_url: redis.url(0), result_backend: redis.url(0) };
    const start = () => watch({ broker: redis.url(0), backend: redis.url(0), control: false });
    const settings: Record<string, unknown> = {};

    /** Runs six tasks as the app is set now, until the condition holds. */
    async function run(
      sources: CelerySources,
      pool: string,
      condition: (app: CeleryApp, worker: Worker, sentAt: number) => Promise<boolean>,
    ): Promise<string[]> {
      const app = appOf({ ...urls, ...settings });
      const worker = await app.plainWorker('-n', 'quiet@gamma', '-c', '1', '-P', pool);
      const seen = async (): Promise<Worker | undefined> =>
        (await sources.workers.listWorkers(context)).find(
          ({ hostname, status }) => hostname === 'quiet@gamma' && status === 'online',
        );
      // The first heartbeat says where the count of tasks begins; and nothing waits before anything is sent.
      await until(async () => (await seen())?.processed != null);
      await sources.queues.listQueues(context);
      await send(app);
      const sentAt = Date.now();
      await until(async () => {
        const now = await seen();
        return now !== undefined && (await condition(app, now, sentAt));
      }, 120_000);
      const hints = await hintsOf(sources);
      await worker.stop();
      return hints;
    }

    const sources = await start();
    const first = await run(sources, 'prefork', async () => settingsIn(await hintsOf(sources)).length >= 2);
    expect(first[0]).toBe(
      'Worker quiet@gamma runs tasks but sends no events about them. Start it with -E or set ' +
        'worker_send_task_events = True.',
    );
    expect(settingsIn(first)).toEqual(['worker_send_task_events', 'result_extended']);
    settings.worker_send_task_events = true;
    const second = await run(sources, 'solo', async (app) => {
      // What was sent before this source has seen the queues is no evidence.
      await send(app);
      return settingsIn(await hintsOf(sources)).includes('task_send_sent_event');
    });
    expect(settingsIn(second)).toEqual(['task_send_sent_event', 'result_extended']);
    for (const name of settingsIn(second)) settings[name] = true;
    const later = await start();
    const last = await run(later, 'threads', async (_, { lastHeartbeat }, sentAt) => {
      // Long enough for events to be missed that never come.
      const isLate = (lastHeartbeat?.getTime() ?? 0) - sentAt > 15_000;
      const { tasks } = await later.tasks.listTasks(queryOf({ limit: 100 }), context);
      return isLate && tasks.filter(({ sent }) => sent !== null).length >= 6;
    });
    expect(last).toEqual([]);
  });
});
