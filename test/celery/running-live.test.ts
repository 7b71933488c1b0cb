import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { WorkerBody, WorkersBody } from '../../src/wire.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const missing = redisMissing ?? celeryMissing;
const SLOTS = 2;
/** Seconds: long enough to be seen on a busy machine. */
const SLOW = 12;

describe.skipIf(missing !== null)(titleUnless(missing, 'what runs on the workers of a real Celery'), () => {
  let redis: RedisServer;
  let app: CeleryApp;
  let sources: CelerySources;

  beforeAll(async () => {
    redis = await startRedis();
    const settings = {
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      task_send_sent_event: true,
      task_track_started: true,
    };
    app = celeryApp(settings);
    sources = celerySources({ settings });
    await until(() => sources.tasks.status?.().ok === true);
    await app.worker('-n', 'busy@here', '-P', 'prefork', '-c', String(SLOTS), '-Q', 'heavy');
    await app.worker('-n', 'idle@here', '-P', 'prefork', '-c', '1', '-Q', 'other');
  }, 120_000);

  afterAll(async () => {
    await sources?.close();
    await app?.close();
    await redis?.close();
  }, 30_000);

  it('is not known before any task was reported, and is listed since it started, and no more once it has ended', {
    timeout: 120_000,
  }, async () => {
    const host = await serve(EXPRESS, { sources });
    const worker = async (name: string, most = 5): Promise<WorkerBody | undefined> => {
      const { body } = await host.get<WorkersBody>(`/api/workers/?running=${most}`);
      // For a moment, a result may say that a task has started, before an event says where.
      if (body.unassigned?.length !== 0) return undefined;
      return body.workers.find(({ hostname }) => hostname === name);
    };
    const waitFor = (total: number) =>
      until(async () => {
        const busy = await worker('busy@here');
        return busy?.running_total === total && busy.concurrency === SLOTS;
      }, 60_000);
    await until(async () => (await worker('idle@here')) !== undefined);
    // Before any task was reported, nobody knows whether workers report theirs.
    expect(await worker('busy@here')).toMatchObject({ running: null, running_total: null, stuck: null });
    const call = { name: 'shop.slow', args: [SLOW], queue: 'heavy' };
    // One more than the worker has slots: it waits.
    await app.send(...Array.from({ length: SLOTS + 1 }, () => call));
    await waitFor(SLOTS);
    const busy = await worker('busy@here');
    expect(busy).toMatchObject({ concurrency: SLOTS, running_total: SLOTS, stuck: false });
    const running = busy?.running ?? [];
    expect(running).toHaveLength(SLOTS);
    expect(running.map(({ started }) => started)).toEqual(running.map(({ started }) => started).sort());
    for (const { task_id, started, ...shown } of running) {
      const known = await sources.tasks.getTask(task_id, context);
      expect(known).toMatchObject({ state: 'STARTED', worker: 'busy@here' });
      expect(started).toBe(known?.started?.toISOString());
      // None has ended yet, so that nobody knows how long they take.
      expect(shown).toEqual({
        name: 'shop.slow',
        queue: 'heavy',
        args: `[${SLOW}]`,
        kwargs: '{}',
        runtime_p95: null,
        stuck: false,
      });
    }
    const first = await worker('busy@here', 1);
    expect(first).toMatchObject({ running: running.slice(0, 1), running_total: SLOTS });
    // A worker is judged once it has said how many slots it has.
    await until(async () => (await worker('idle@here'))?.concurrency === 1, 60_000);
    expect(await worker('idle@here')).toMatchObject({ running: [], running_total: 0, stuck: false });
    await waitFor(1);
    await waitFor(0);
    expect(await worker('busy@here')).toMatchObject({ running: [], stuck: false });
  });
});
