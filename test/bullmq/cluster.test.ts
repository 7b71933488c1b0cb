import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import { feed, follow } from '../helpers/bullmq-events.ts';
import { context, detail, page, tree, walk } from '../helpers/bullmq-read.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { type RedisCluster, startCluster } from '../helpers/redis-cluster.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { schedulesOf } from './schedules-lab.ts';

const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {});
  return client;
};

/** Keys of each prefix lie on one of the nodes, and no two of them on the same. */
const PREFIXES = ['{bull}', '{b}', '{x}'];
const JOBS = 40;

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'a cluster of Redis with $label has'),
  ({ bullmq }) => {
    let cluster: RedisCluster;
    let io: Cluster;
    let node: ReturnType<typeof nodeClient>;
    let queues: InstanceType<typeof bullmq.Queue>[];
    const open: BullMQSources[] = [];

    const nodeClient = () =>
      quiet(
        createCluster({
          rootNodes: cluster.nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` })),
        }),
      );

    beforeAll(async () => {
      cluster = await startCluster();
      io = quiet(new Cluster([...cluster.nodes], { redisOptions: { maxRetriesPerRequest: null } }));
      node = nodeClient();
      await node.connect();
      queues = PREFIXES.map((prefix, index) =>
        quiet(new bullmq.Queue(`q${index}`, { connection: io as never, prefix })),
      );
      for (const queue of queues) {
        await queue.addBulk(Array.from({ length: JOBS }, (_, n) => ({ name: `n${n}`, data: { n } })));
      }
    });

    afterAll(async () => {
      for (const sources of open) sources.close();
      await Promise.all(queues.map((queue) => queue.close()));
      node.destroy();
      io.disconnect();
      await cluster.close();
    });

    function opened(options: Parameters<typeof bullmqSources>[0]): BullMQSources {
      const sources = bullmqSources(options);
      open.push(sources);
      return sources;
    }

    it('each queue where it lies, over ioredis and node-redis', async () => {
      const flow = new bullmq.FlowProducer({ connection: io as never, prefix: '{bull}' });
      const { job } = await flow.add({
        name: 'p',
        queueName: 'q0',
        children: [{ name: 'c', queueName: 'q9' }],
      });
      await flow.close();
      const sources = opened({ queues });
      expect((await walk(sources, { limit: 33 })).length).toBe(3 * JOBS + 1);
      expect((await detail(sources, `q0:${job.id}`))?.children?.length).toBe(1);
      const found = opened({ connection: io, prefix: '{bull}' });
      expect((await walk(found)).map(({ queue }) => queue)).toContain('q9');
      expect((await tree(found, `q0:${job.id}`))?.tasks.length).toBe(2);
      for (const prefix of PREFIXES) {
        expect((await page(opened({ connection: node, prefix }))).total).toBeGreaterThanOrEqual(JOBS);
      }
    });

    it('one feed, over ioredis and node-redis', async () => {
      const part = { tasks: Array.from({ length: JOBS }, (_, n) => `n${n}`) };
      const all = opened({ queues });
      const { events, gaps } = await follow(all, { time: new Date(0) }, { ...part, limit: 40 });
      expect([new Set(events.map(({ id }) => id)).size, gaps]).toEqual([events.length, 0]);
      expect(events.filter(({ type }) => type === 'task-sent').length).toBe(3 * JOBS);
      expect((await feed(all, part)).events).toEqual(events.toReversed());
      const one = opened({ connection: node, prefix: '{x}' });
      const own = await follow(one, { time: new Date(0) }, { ...part, limit: 30 });
      expect([own.events.map(({ task }) => task), own.gaps]).toEqual([part.tasks, 0]);
    });

    it('each worker once, and one component', async () => {
      for (const prefix of PREFIXES) {
        const connection = io as never;
        const queue = quiet(new bullmq.Queue('mail', { connection, prefix }));
        const workers = [{ name: 'ann' }, { name: 'bob' }, {}].map((options) =>
          quiet(new bullmq.Worker('mail', async () => 1, { connection, prefix, drainDelay: 1, ...options })),
        );
        await queue.add('a', {});
        await until(async () => (await queue.getCompletedCount()) === 1);
        for (const sources of [
          opened({ queues: [queue] }),
          ...[io, node].map((connection) => opened({ connection, prefix })),
        ]) {
          const names = async (): Promise<readonly string[]> =>
            (await sources.workers.listWorkers(context)).map(({ hostname }) => hostname).toSorted();
          await until(async () => (await names()).length === 3);
          expect(await names()).toEqual(['ann', 'bob', expect.stringMatching(/^mail@127\.0\.0\.1:\d+$/)]);
          const [component, ...others] = await sources.components.listComponents(context);
          expect(others).toEqual([]);
          expect(component).toMatchObject({
            status: 'up',
            pid: null,
            config: { mode: 'cluster', maxmemory_policy: 'noeviction' },
          });
          expect(await sources.queues.listQueues(context)).toContainEqual(
            expect.objectContaining({ name: 'mail', waiting: 0, reserved: 0, consumers: 3 }),
          );
          expect(await sources.health.checkBroker?.(context)).toEqual({ ok: true, error: null });
        }
        await Promise.all([...workers, queue].map((one) => one.close()));
      }
    });

    it('the schedules of all its nodes', async () => {
      for (const queue of queues) await queue.upsertJobScheduler('hourly', { every: 3_600_000 });
      const ids = (await schedulesOf(opened({ queues }))).map(({ id }) => id);
      expect(ids).toEqual(['q0:hourly', 'q1:hourly', 'q2:hourly']);
    });
  },
);
