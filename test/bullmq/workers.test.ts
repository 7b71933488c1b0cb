import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Worker } from '../../src/model.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

/** By hostname. */
async function workersOf(sources: BullMQSources): Promise<ReadonlyMap<string, Worker>> {
  const workers = await sources.workers.listWorkers(context);
  const byName = new Map(workers.map((worker) => [worker.hostname, worker]));
  expect(byName.size).toBe(workers.length);
  return byName;
}

/** Jobs that go on until they are let go of. */
function longJobs(): { readonly run: () => Promise<string>; end(): void } {
  let end = (): void => {};
  const ended = new Promise<string>((resolve) => {
    end = () => resolve('done');
  });
  return { run: () => ended, end };
}

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'workers of $label'),
  ({ bullmq, label }) => {
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

    /** A source that sees this queue alone. */
    function sourceOf(...queues: Queue[]): BullMQSources {
      return bullmqSources({ queues });
    }

    it('are none where none is connected, which an empty list says', async () => {
      const queue = app.queue('nobody');
      await queue.add('a', {});
      expect(await sourceOf(queue).workers.listWorkers(context)).toEqual([]);
    });

    it('are listed while they are connected, with their queue and what they hold', async () => {
      const [mail, image] = [app.queue('mail é'), app.queue('image')];
      const sources = sourceOf(mail, image);
      const jobs = longJobs();
      const ann = app.worker(mail.name, jobs.run, { name: 'ann:w:1', concurrency: 3 });
      const bob = app.worker(image.name, jobs.run, { name: 'bob' });
      app.worker(mail.name, jobs.run, { name: 'bob' });
      await until(async () => (await workersOf(sources)).get('bob')?.queues?.length === 2);
      await Promise.all([mail.addBulk([1, 2, 3, 4].map((n) => ({ name: 'a', data: { n } })))]);
      await app.settled(mail, 4, 'active');
      const workers = await workersOf(sources);
      expect([...workers.keys()].toSorted()).toEqual(['ann:w:1', 'bob']);
      expect(workers.get('ann:w:1')).toMatchObject({
        status: 'online',
        queues: [mail.name],
        active: 3,
      });
      expect(workers.get('ann:w:1')?.uptimeSeconds).toBeGreaterThanOrEqual(0);
      expect(workers.get('ann:w:1')?.lastHeartbeat ?? null).toBeNull();
      expect(workers.get('bob')).toMatchObject({ status: 'online', active: 1 });
      expect(workers.get('bob')?.queues?.toSorted()).toEqual(['image', mail.name].toSorted());
      jobs.end();
      await app.settled(mail, 4, 'completed');
      await until(async () => (await workersOf(sources)).get('ann:w:1')?.active === 0);
      await Promise.all([ann.close(), bob.close()]);
      await until(async () => (await workersOf(sources)).size === 1);
      expect((await workersOf(sources)).get('bob')?.queues).toEqual([mail.name]);
    });

    it('without a name are called after their queue and address, one row for each', async () => {
      const queue = app.queue('plain');
      const sources = sourceOf(queue);
      const jobs = longJobs();
      app.worker(queue.name, jobs.run);
      app.worker(queue.name, jobs.run);
      await until(async () => (await workersOf(sources)).size === 2);
      const workers = [...(await workersOf(sources)).values()];
      for (const { hostname, status, queues, active } of workers) {
        expect(hostname).toMatch(/^plain@127\.0\.0\.1:\d+$/);
        expect({ status, queues, active }).toEqual({ status: 'online', queues: ['plain'], active: 0 });
      }
      await queue.add('a', {});
      await app.settled(queue, 1, 'active');
      // Which of the two has it, nobody can tell.
      expect([...(await workersOf(sources)).values()].map(({ active }) => active)).toEqual([null, null]);
      jobs.end();
      await app.settled(queue, 1, 'completed');
    });

    it('that ended with a job in hand are told until their job is taken back', async () => {
      const queue = app.queue('deadly');
      const sources = sourceOf(queue);
      const jobs = longJobs();
      const worker = app.worker(queue.name, jobs.run, { name: 'eve', lockDuration: 600_000 });
      const job = await queue.add('a', {});
      await app.settled(queue, 1, 'active');
      await until(async () => (await workersOf(sources)).get('eve')?.active === 1);
      await worker.close(true);
      await until(async () => (await workersOf(sources)).get('eve')?.status === 'stale');
      expect((await workersOf(sources)).get('eve')).toMatchObject({ active: 1, queues: ['deadly'] });
      expect(await sources.health.checkWorkers?.({ ...context, ping: false })).toEqual({
        ok: false,
        error: 'No worker is connected.',
        responding: [],
        missing: ['eve'],
      });
      await admin.del(`bull:deadly:${job.id}:lock`);
      expect((await workersOf(sources)).get('eve')).toMatchObject({ status: 'offline', active: 0 });
      await admin.lrem('bull:deadly:active', 1, String(job.id));
      expect((await workersOf(sources)).size).toBe(0);
      jobs.end();
    });

    it('of other queues, prefixes and databases are left out', async () => {
      const queue = app.queue('mine');
      const jobs = longJobs();
      const { port } = app.redis;
      app.worker('mine', jobs.run, { prefix: 'other', name: 'prefix' });
      app.worker('mine', jobs.run, { connection: { host: '127.0.0.1', port, db: 3 }, name: 'database' });
      app.worker('mine2', jobs.run, { name: 'queue' });
      app.worker('mine', jobs.run, { name: 'own' });
      const names = async (): Promise<string> => String(await admin.call('CLIENT', 'LIST'));
      await until(async () => {
        const list = await names();
        return ['prefix', 'database', 'queue', 'own'].every((name) => list.includes(`:w:${name} `));
      });
      expect([...(await workersOf(sourceOf(queue))).keys()]).toEqual(['own']);
      jobs.end();
    });

    it('whose name Redis refuses are seen by the jobs that they hold', async () => {
      const queue = app.queue('odd');
      const jobs = longJobs();
      app.worker(queue.name, jobs.run, { name: 'wörker one' });
      await queue.add('a', {});
      await app.settled(queue, 1, 'active');
      const workers = await workersOf(sourceOf(queue));
      expect(workers.get('wörker one')).toMatchObject({ status: 'online', active: 1 });
      jobs.end();
      await app.settled(queue, 1, 'completed');
    });

    it('are listed over clients that they share, of ioredis or node-redis', async () => {
      const io = new Redis(app.redis.port, '127.0.0.1', { maxRetriesPerRequest: null });
      const node = createClient({ url: app.redis.url() });
      node.on('error', () => {});
      await node.connect();
      // BullMQ 5 takes none of node-redis.
      const clients = label === 'BullMQ 5' ? { io } : { io, node };
      for (const [name, connection] of Object.entries(clients)) {
        const queue = app.queue(name, { connection: connection as never });
        const worker = app.worker(name, async () => 1, {
          connection: connection as never,
          name: `w-${name}`,
        });
        for (const sources of [sourceOf(queue), bullmqSources({ connection })]) {
          await until(async () => (await workersOf(sources)).has(`w-${name}`));
          sources.close();
        }
        await worker.close();
        await queue.close();
      }
      io.disconnect();
      node.destroy();
    });
  },
);
