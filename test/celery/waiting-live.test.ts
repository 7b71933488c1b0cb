import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import type { ComponentsBody, QueueBody, TaskDetailBody, WaitBody } from '../../src/wire.ts';
import { type Call, type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { rabbitMissing, startRabbit } from '../helpers/rabbitmq.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const TIMEOUT = { timeout: 60_000, interval: 250 };
const LONG = 240_000;

/** Sends tasks, and prints their ids in order. */
const SEND = `
import json, sys, shop
print(json.dumps([shop.app.tasks[call.pop('name')].apply_async(**call).id for call in json.loads(sys.argv[1])]))
`;
/** Sends a chord, and prints the id of its body. */
const CHORD = `
import json, shop
from celery import chord
print(json.dumps(chord([shop.slow.s(0), shop.slow.s(8)])(shop.slow.si(0)).id))
`;

interface TestBroker {
  readonly url: string;
  /** Removes the messages of a queue behind the back of everyone. */
  purge(queue: string): Promise<void>;
  close(): Promise<void>;
}

async function onRedis(): Promise<TestBroker> {
  const redis = await startRedis();
  return {
    url: redis.url(1),
    async purge(queue) {
      const client = new Redis(redis.url(1));
      await client.del(queue);
      client.disconnect();
    },
    close: () => redis.close(),
  };
}

async function onRabbit(): Promise<TestBroker> {
  const rabbit = await startRabbit();
  return {
    url: rabbit.url(),
    purge: () => Promise.reject(new Error('Where messages cannot be read, a missing one is not noticed.')),
    close: () => rabbit.close(),
  };
}

describe.each([
  { label: 'Redis', missing: redisMissing ?? celeryMissing, start: onRedis },
  { label: 'RabbitMQ', missing: rabbitMissing ?? celeryMissing, start: onRabbit },
])('why tasks of Celery on $label wait', ({ label, missing, start }) => {
  describe.skipIf(missing !== null)(titleUnless(missing, 'by what its workers and queues report'), () => {
    let broker: TestBroker;
    let folder: string;
    let settings: CelerySettings;
    let app: CeleryApp;
    let sources: CelerySources;
    let get: Awaited<ReturnType<typeof serve>>['get'];

    beforeAll(async () => {
      broker = await start();
      folder = mkdtempSync(join(tmpdir(), 'monitor-results-'));
      settings = {
        broker_url: broker.url,
        // One without counters, so that a task looks again and again whether the header of a chord has ended.
        result_backend: `file://${folder}`,
        task_send_sent_event: true,
        task_track_started: true,
        worker_prefetch_multiplier: 1,
        task_annotations: { 'shop.add': { rate_limit: '1/h' } },
      };
      app = celeryApp(settings);
      await app.worker('-n', 'heavy@here', '-P', 'prefork', '-c', '1', '-Q', 'heavy');
      await app.worker('-n', 'free@here', '-P', 'prefork', '-c', '2', '-Q', 'celery,limited');
    }, LONG);

    afterAll(async () => {
      await app?.close();
      await broker?.close();
      rmSync(folder, { recursive: true, force: true });
    }, LONG);

    beforeEach(async () => {
      sources = celerySources({ settings });
      await until(() => sources.tasks.status?.().ok === true);
      ({ get } = await serve(EXPRESS, { sources }));
    }, LONG);

    afterEach(() => sources.close());

    const send = async (...calls: readonly Call[]): Promise<readonly string[]> =>
      (await app.script('-c', SEND, JSON.stringify(calls))) as readonly string[];
    const taskOf = async (id: string): Promise<TaskDetailBody> =>
      (await get<TaskDetailBody>(`/api/tasks/${id}/`)).body;
    const waitOf = async (id: string): Promise<WaitBody | null | undefined> => (await taskOf(id)).waiting_for;
    const queueOf = async (name: string): Promise<QueueBody | undefined> =>
      (await get<ComponentsBody>('/api/components/')).body.queues?.queues?.find((one) => one.name === name);
    const expectCode = async (id: string | undefined, code: WaitBody['code'] | null): Promise<WaitBody> => {
      await expect
        .poll(async () => {
          const wait = await waitOf(id ?? '');
          return wait === null ? null : (wait?.code ?? 'no task');
        }, TIMEOUT)
        .toBe(code);
      return (await waitOf(id ?? '')) as WaitBody;
    };

    // Before tasks with an eta or a rate limit take the worker's slots: RabbitMQ 4.3 does not let it prefetch more instead.
    it('chord_header, while a task looks whether it has ended', { timeout: LONG }, async () => {
      const body = (await app.script('-c', CHORD)) as string;
      const unlock = async (): Promise<WaitBody | null> => {
        const { tasks } = (
          await get<{ tasks: { task_id: string }[] }>('/api/tasks/?name=celery.chord_unlock')
        ).body;
        return (await waitOf(tasks[0]?.task_id ?? 'none')) ?? null;
      };
      await expect.poll(async () => (await unlock())?.code, TIMEOUT).toBe('chord_header');
      await expect.poll(async () => (await taskOf(body)).state, TIMEOUT).toBe('SUCCESS');
      await expect.poll(unlock, TIMEOUT).toBeNull();
    });

    it('no_consumer, until a worker comes', { timeout: LONG }, async () => {
      const [id] = await send({ name: 'shop.slow', args: [0], queue: 'nobody' });
      expect((await expectCode(id, 'no_consumer')).summary).toBe('Queue nobody has no consumer.');
      // On Redis, new queues are looked for once a minute.
      await expect
        .poll(async () => (await queueOf('nobody'))?.blocked_by?.code, { ...TIMEOUT, timeout: 120_000 })
        .toBe('no_consumer');
      const late = await app.worker('-n', 'late@here', '-P', 'solo', '-Q', 'nobody');
      await expectCode(id, null);
      expect((await taskOf(id ?? '')).state).toBe('SUCCESS');
      await expect.poll(async () => (await queueOf('nobody'))?.blocked_by, TIMEOUT).toBeNull();
      await late.stop();
    });

    // RabbitMQ does not tell whether a message is in a queue.
    if (label === 'Redis') {
      it('missing, once its message is gone', { timeout: LONG }, async () => {
        // A result backend that can be read, in which there is no result either.
        const readable = celerySources({ settings: { ...settings, result_backend: broker.url } });
        await until(() => readable.tasks.status?.().ok === true);
        ({ get } = await serve(EXPRESS, { sources: readable }));
        const [id] = await send({ name: 'shop.slow', args: [0], queue: 'nowhere' });
        await expectCode(id, 'no_consumer');
        await broker.purge('nowhere');
        expect((await expectCode(id, 'missing')).summary).toContain('it will not run');
        await readable.close();
      });
    }

    it('reserved behind a running task, and workers_busy behind that', { timeout: LONG }, async () => {
      const call = { name: 'shop.slow', args: [12], queue: 'heavy' };
      const ids = await send(call, call, { ...call, args: [0] }, { ...call, args: [0] });
      await expect.poll(async () => (await waitOf(ids[1] ?? ''))?.evidence.slots, TIMEOUT).toBe(1);
      const reserved = await expectCode(ids[1], 'reserved');
      expect(reserved.summary).toMatch(
        /^Reserved by heavy@here, where a task shop\.slow runs, for \d+ m?s\.$/,
      );
      expect(reserved.evidence).toMatchObject({ worker: 'heavy@here', slots: 1, running: 1 });
      await expect.poll(async () => (await waitOf(ids[3] ?? ''))?.evidence.ahead, TIMEOUT).toBe(1);
      const busy = await expectCode(ids[3], 'workers_busy');
      // RabbitMQ does not tell where in the queue a message is.
      expect(busy.summary).toMatch(
        label === 'Redis'
          ? /^Behind 1 task; the only slot is busy/
          : /^Behind up to 1 task; the only slot is/,
      );
      expect(busy.evidence).toMatchObject({ queue: 'heavy', slots: 1, ahead: 1 });
      await expect.poll(async () => (await queueOf('heavy'))?.blocked_by?.code, TIMEOUT).toBe('workers_busy');
      expect(await waitOf(ids[0] ?? '')).toBeNull();
      for (const id of ids) await expectCode(id, null);
    });

    it('eta and retry_delay', { timeout: LONG }, async () => {
      // With RabbitMQ 4.3, what waits for its eta keeps a slot.
      const [now, later, again] = await send(
        { name: 'shop.slow', args: [0] },
        { name: 'shop.slow', args: [0], countdown: 600 },
        { name: 'shop.again', args: [1, 600, 0] },
      );
      const eta = await expectCode(later, 'eta');
      expect(eta.until).toBe((await taskOf(later ?? '')).eta);
      expect(Date.parse(eta.until ?? '') - Date.now()).toBeGreaterThan(500_000);
      const retry = await expectCode(again, 'retry_delay');
      expect(retry.summary).toMatch(/^Retries at .* UTC\.$/);
      expect(Date.parse(retry.until ?? '') - Date.now()).toBeGreaterThan(500_000);
      await expectCode(now, null);
    });

    it('rate_limit of its name, as its worker reports it', { timeout: LONG }, async () => {
      const call = { name: 'shop.add', args: [1, 1], queue: 'limited' };
      const [first, second, other] = await send(call, call, {
        name: 'shop.slow',
        args: [0],
        queue: 'limited',
      });
      await expectCode(first, null);
      expect((await expectCode(second, 'rate_limit')).summary).toBe(
        'free@here starts at most 1/h of shop.add.',
      );
      await expectCode(other, null);
    });
  });
});
