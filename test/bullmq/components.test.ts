import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Component, Queue as QueueRow } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

/** The only component of the source. */
async function componentOf(sources: BullMQSources): Promise<Component> {
  const components = await sources.components.listComponents(context);
  expect(components.map(({ key }) => key)).toEqual(['redis']);
  return components[0] as Component;
}

async function queuesOf(sources: BullMQSources): Promise<readonly QueueRow[]> {
  return sources.queues.listQueues(context);
}

async function hintsOf(sources: BullMQSources): Promise<readonly string[]> {
  return (await componentOf(sources)).config?.hints as readonly string[];
}

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the Redis of $label'),
  ({ bullmq }) => {
    let app: BullMQApp;
    let admin: Redis;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
      admin = new Redis(app.redis.port, '127.0.0.1');
    });
    afterAll(async () => {
      admin?.disconnect();
      await app?.close();
    });

    it('is told with its version, its address and how many jobs are in each state', async () => {
      const queues = [app.queue('mail'), app.queue('token')] as [Queue, Queue];
      const [mail, token] = queues;
      await mail.addBulk(
        [{}, {}, { delay: 3_600_000 }, { priority: 3 }].map((opts) => ({ name: 'a', data: {}, opts })),
      );
      await app.flow().add({
        name: 'p',
        queueName: 'mail',
        children: [{ name: 'c', queueName: 'token', opts: { delay: 3_600_000 } }],
      });
      await token.setGlobalConcurrency(7);
      await token.add('b', {});
      app.worker('token', async () => 1, { name: 'ann' });
      app.worker('token', async () => 1);
      await app.settled(token, 1, 'completed');
      const sources = bullmqSources({ queues });
      await until(async () => (await queuesOf(sources))[1]?.consumers === 2);
      const { config, ...component } = await componentOf(sources);
      expect(component).toEqual({
        key: 'redis',
        name: 'Redis',
        enabled: true,
        status: 'up',
        pid: expect.any(Number),
        url: app.redis.url(),
        redacted: true,
      });
      expect(await queuesOf(sources)).toMatchObject([
        { name: 'mail', waiting: 3, reserved: 0, consumers: 0 },
        { name: 'token', waiting: 0, reserved: 0, consumers: 2 },
      ]);
      expect(config).toMatchObject({
        version: expect.stringMatching(/^(?:valkey )?\d+\.\d+\.\d+$/),
        mode: 'standalone',
        maxmemory_policy: 'noeviction',
        maxmemory_bytes: 0,
        used_memory_bytes: expect.any(Number),
        error: null,
        queue_count: 2,
        queues: [
          { name: 'mail', paused: false, stalled: 0, concurrency: null, jobs: await mail.getJobCounts() },
          { name: 'token', paused: false, stalled: 0, concurrency: 7, jobs: await token.getJobCounts() },
        ],
      });
      expect(config?.hints).toEqual([
        'No worker is connected to the queue "mail", where 3 jobs wait. ' +
          'Start one: new Worker("mail", processor, { connection }).',
      ]);
    });

    it('hints at a paused queue with jobs, as long as it is one', async () => {
      const queue = app.queue('halted');
      app.worker('halted', async () => 1);
      const sources = bullmqSources({ queues: [queue] });
      await until(async () => (await queuesOf(sources))[0]?.consumers === 1);
      await queue.pause();
      expect(await hintsOf(sources)).toEqual([]);
      await queue.add('a', {});
      expect(await hintsOf(sources)).toEqual([
        'The queue "halted" is paused, and 1 job waits. Run await new Queue("halted", { connection }).resume().',
      ]);
      expect((await queuesOf(sources))[0]?.waiting).toBe(1);
      await queue.resume();
      await app.settled(queue, 1, 'completed');
      expect(await hintsOf(sources)).toEqual([]);
    });

    it('hints at jobs that their worker has let go of', async () => {
      const queue = app.queue('stuck');
      const sources = bullmqSources({ queues: [queue] });
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const worker = app.worker('stuck', () => ended, { lockDuration: 600_000 });
      const job = await queue.add('a', {});
      await app.settled(queue, 1, 'active');
      await worker.close(true);
      await until(async () => (await queuesOf(sources))[0]?.consumers === 0);
      expect(await hintsOf(sources)).toEqual([]);
      await admin.del(`bull:stuck:${job.id}:lock`);
      expect(await hintsOf(sources)).toEqual([
        'The queue "stuck" has 1 job stalled: taken by a worker that then lost its lock. ' +
          'Start one; it puts them back: new Worker("stuck", processor, { connection }).',
      ]);
      end();
    });

    it('hints at a memory policy that drops jobs', async () => {
      const sources = bullmqSources({ queues: [app.queue('idle')] });
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
      expect(await hintsOf(sources)).toEqual([
        'Redis drops keys when its memory is full (maxmemory-policy allkeys-lru), and jobs with them. ' +
          'Run CONFIG SET maxmemory-policy noeviction, and write maxmemory-policy noeviction into redis.conf.',
      ]);
      await admin.config('SET', 'maxmemory-policy', 'noeviction');
      expect(await hintsOf(sources)).toEqual([]);
    });

    it('says what the user may not see, and is whole as soon as it may', async () => {
      const queue = app.queue('hidden');
      await queue.add('a', {});
      app.worker('hidden', async () => 1, { autorun: false });
      const rules = ['on', '>pass', '~bull:*', '+@read', '+ping', '-@dangerous', '+scan', '-info'];
      await admin.call('ACL', 'SETUSER', 'monitor', ...rules);
      const { port } = app.redis;
      const sources = bullmqSources({ connection: `redis://monitor:pass@127.0.0.1:${port}` });
      const { config, status, pid } = await componentOf(sources);
      expect({ status, pid }).toEqual({ status: 'up', pid: null });
      expect(config).toMatchObject({ version: null, maxmemory_policy: null });
      const queues = await queuesOf(sources);
      expect(queues.find(({ name }) => name === 'hidden')).toMatchObject({
        waiting: 1,
        reserved: 0,
        consumers: null,
      });
      expect(config?.hints).toEqual(
        expect.arrayContaining([
          'This Redis user may not list clients, so workers are not shown. Run ACL SETUSER <user> +client|list',
          "This Redis user may not read the server's version and memory policy. Run ACL SETUSER <user> +info",
        ]),
      );
      expect(String(config?.hints)).not.toContain('No worker');
      await expect(sources.workers.listWorkers(context)).rejects.toThrow(
        'does not allow this user to list clients',
      );
      expect(await sources.health.checkWorkers?.({ ...context, ping: false })).toMatchObject({
        ok: null,
        error: expect.stringContaining('list clients'),
      });
      expect(sources.workers.status?.().ok).toBe(true);
      await admin.call('ACL', 'SETUSER', 'monitor', '+client|list', '+info');
      const seen = await componentOf(sources);
      expect(seen.config?.version).not.toBeNull();
      const seenQueues = await queuesOf(sources);
      expect(seenQueues.find(({ name }) => name === 'hidden')?.consumers).toEqual(expect.any(Number));
      await admin.call('ACL', 'SETUSER', 'monitor', '-@read');
      expect(await componentOf(sources)).toMatchObject({
        status: 'up',
        config: {
          error: 'The Redis user lacks a right that this monitor needs.',
          hints: [expect.stringContaining('ACL SETUSER <user> ~bull:* +@read')],
        },
      });
      sources.close();
    });
  },
);
