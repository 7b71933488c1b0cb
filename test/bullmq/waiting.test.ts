import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { ComponentsBody, QueueBody, TaskDetailBody, WaitBody } from '../../src/wire.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';

const TIMEOUT = { timeout: 30_000 };

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'why jobs of $label wait'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let sources: ReturnType<typeof bullmqSources>;
    let get: Awaited<ReturnType<typeof serve>>['get'];
    /** Ends the jobs that workers hold. */
    let release: () => void;
    let released: Promise<void>;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
    });

    afterAll(() => app?.close());

    beforeEach(async () => {
      released = new Promise((resolve) => {
        release = resolve;
      });
      sources = bullmqSources({ connection: app.redis.url() });
      ({ get } = await serve(EXPRESS, { sources }));
    });

    afterEach(() => {
      release();
      sources.close();
    });

    const taskOf = async (id: string): Promise<TaskDetailBody> =>
      (await get<TaskDetailBody>(`/api/tasks/${encodeURIComponent(id)}/`)).body;
    const waitOf = async (id: string): Promise<WaitBody | null> => (await taskOf(id)).waiting_for;
    const queueOf = async (name: string): Promise<QueueBody | undefined> =>
      (await get<ComponentsBody>('/api/components/')).body.queues?.queues?.find((one) => one.name === name);
    /** Waits until the answers about a job and its queue have this code; `null`: neither waits. */
    async function expectCode(id: string, code: WaitBody['code'] | null): Promise<WaitBody | null> {
      const queue = id.split(':', 1)[0] as string;
      await expect.poll(async () => (await waitOf(id))?.code ?? null, TIMEOUT).toBe(code);
      await expect.poll(async () => (await queueOf(queue))?.blocked_by?.code ?? null, TIMEOUT).toBe(code);
      return await waitOf(id);
    }

    it('no_consumer: until a worker comes', async () => {
      const queue = app.queue('lonely');
      await queue.add('send', {}, { jobId: 'a' });
      const wait = await expectCode('lonely:a', 'no_consumer');
      expect(wait).toMatchObject({ summary: 'Queue lonely has no consumer.', until: null });
      expect(Date.parse(wait?.since ?? '')).toBe((await queue.getJob('a'))?.timestamp);
      app.worker('lonely', async () => {});
      await expectCode('lonely:a', null);
      expect((await queueOf('lonely'))?.drain).toBeNull();
    });

    it('queue_paused: until it is resumed, even without a consumer', async () => {
      const queue = app.queue('resting');
      await queue.pause();
      await queue.add('send', {}, { jobId: 'a' });
      expect(await expectCode('resting:a', 'queue_paused')).toMatchObject({
        summary: 'Queue resting is paused.',
      });
      await queue.resume();
      await expectCode('resting:a', 'no_consumer');
    });

    it('eta and retry_delay: until the delay is over', async () => {
      const queue = app.queue('later');
      await queue.add('send', {}, { jobId: 'a', delay: 600_000 });
      const eta = await waitOf('later:a');
      const { eta: due } = await taskOf('later:a');
      expect(eta).toMatchObject({ code: 'eta', until: due });
      expect(eta?.summary).toMatch(/^Starts at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC at the earliest\.$/);
      app.worker('later', async () => {
        throw new Error('again');
      });
      await queue.add('send', {}, { jobId: 'b', attempts: 2, backoff: 600_000 });
      await expect.poll(async () => (await waitOf('later:b'))?.code, TIMEOUT).toBe('retry_delay');
      expect((await waitOf('later:b'))?.summary).toMatch(/^Retries at .* UTC\.$/);
      await (await queue.getJob('a'))?.promote();
      await expect.poll(async () => (await taskOf('later:a')).state, TIMEOUT).toBe('FAILURE');
      expect(await waitOf('later:a')).toBeNull();
    });

    it('workers_busy: behind others, by their order', async () => {
      const queue = app.queue('busy');
      app.worker('busy', () => released, { concurrency: 2 });
      for (const id of ['a', 'b', 'c', 'd', 'e']) await queue.add('send', {}, { jobId: id });
      await queue.add('send', {}, { jobId: 'last', priority: 5 });
      await app.settled(queue, 2, 'active');
      const wait = await expectCode('busy:e', 'workers_busy');
      expect(wait?.summary).toMatch(/^Behind 2 tasks; all 2 slots are busy/);
      expect(wait?.evidence).toMatchObject({ queue: 'busy', slots: 2, ahead: 2, ahead_is_limit: false });
      expect((await waitOf('busy:last'))?.evidence.ahead).toBe(3);
      expect((await waitOf('busy:c'))?.summary).toMatch(/^All 2 slots are busy/);
      expect(await waitOf('busy:a')).toBeNull();
      release();
      await expectCode('busy:e', null);
    });

    it('children: how many are done', async () => {
      app.worker('parts', (job) => (job.name === 'quick' ? Promise.resolve() : released), { concurrency: 5 });
      const children = ['quick', 'slow', 'slow'].map((name, index) => ({
        ...{ name, queueName: 'parts', data: {} },
        opts: { jobId: `${name}${index}` },
      }));
      await app.flow().add({ name: 'whole', queueName: 'wholes', opts: { jobId: 'w' }, children });
      await expect
        .poll(() => waitOf('wholes:w'), TIMEOUT)
        .toMatchObject({
          code: 'children',
          summary: 'Waits for its children: 1 of 3 done.',
          evidence: { done: 1, total: 3 },
        });
      release();
      await expectCode('wholes:w', 'no_consumer');
    });

    it('concurrency_limit: of the whole queue', async () => {
      const queue = app.queue('narrow');
      // Older versions have no method for it.
      const redis = new Redis(app.redis.port, '127.0.0.1');
      onTestFinished(() => redis.disconnect());
      await redis.hset('bull:narrow:meta', { concurrency: 1 });
      app.worker('narrow', () => released, { concurrency: 5 });
      await queue.add('send', {}, { jobId: 'a' });
      await app.settled(queue, 1, 'active');
      await queue.add('send', {}, { jobId: 'b' });
      expect(await expectCode('narrow:b', 'concurrency_limit')).toMatchObject({
        summary: 'Queue narrow runs at most 1 task at a time.',
        evidence: { limit: 1, running: 1 },
      });
      await redis.hdel('bull:narrow:meta', 'concurrency');
      await expectCode('narrow:b', null);
    });

    it('rate_limit: with the time that is left', async () => {
      const queue = app.queue('slow');
      app.worker('slow', async () => {}, { limiter: { max: 1, duration: 600_000 } });
      await queue.add('send', {}, { jobId: 'a' });
      await app.settled(queue, 1, 'completed');
      await queue.add('send', {}, { jobId: 'b' });
      const wait = await expectCode('slow:b', 'rate_limit');
      expect(wait?.summary).toMatch(
        /^The rate limit of queue slow is reached; the next is handed out in \d+ min\.$/,
      );
      const left = Date.parse(wait?.until ?? '') - Date.now();
      expect(left).toBeGreaterThan(500_000);
      expect(left).toBeLessThanOrEqual(600_000);
    });

    it('unknown: whether the limit of a worker or its slots hold up jobs, which BullMQ does not store', async () => {
      const queue = app.queue('unclear');
      app.worker('unclear', () => released, { concurrency: 5, limiter: { max: 1, duration: 600_000 } });
      await queue.add('send', {}, { jobId: 'a' });
      await app.settled(queue, 1, 'active');
      await queue.add('send', {}, { jobId: 'b' });
      const wait = await expectCode('unclear:b', 'unknown');
      expect(wait?.summary).toMatch(
        /^All workers are busy, or the rate limit is reached \(1 taken, resets in /,
      );
    });
  },
);
