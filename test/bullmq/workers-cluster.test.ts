import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { context } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { type RedisCluster, startCluster } from '../helpers/redis-cluster.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';

const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(made: T): T => {
  made.on('error', () => {});
  return made;
};

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'workers of $label on a cluster of Redis'),
  ({ bullmq }) => {
    let cluster: RedisCluster;
    let client: Cluster;

    beforeAll(async () => {
      cluster = await startCluster();
      client = quiet(new Cluster([...cluster.nodes], { redisOptions: { maxRetriesPerRequest: null } }));
    }, 60_000);

    afterAll(async () => {
      client?.disconnect();
      await cluster?.close();
    });

    it('are each listed once, with the component of the whole cluster', async () => {
      const node = quiet(
        createCluster({
          rootNodes: cluster.nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` })),
        }),
      );
      await node.connect();
      const connection = client as never;
      // Keys of each prefix lie on another node.
      for (const prefix of ['{bull}', '{b}', '{x}']) {
        const queue = quiet(new bullmq.Queue('mail', { connection, prefix }));
        const workers = ['ann', 'bob'].map((name) =>
          quiet(new bullmq.Worker('mail', async () => 1, { connection, prefix, name, drainDelay: 1 })),
        );
        workers.push(quiet(new bullmq.Worker('mail', async () => 1, { connection, prefix, drainDelay: 1 })));
        await queue.add('a', {});
        await until(async () => (await queue.getCompletedCount()) === 1);
        for (const sources of [
          bullmqSources({ queues: [queue] }),
          bullmqSources({ connection: client, prefix }),
          bullmqSources({ connection: node, prefix }),
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
            config: { mode: 'cluster', maxmemory_policy: 'noeviction', hints: [] },
          });
          expect(await sources.queues.listQueues(context)).toMatchObject([
            { name: 'mail', waiting: 0, reserved: 0, consumers: 3 },
          ]);
          expect(await sources.health.checkBroker?.(context)).toEqual({ ok: true, error: null });
          sources.close();
        }
        await Promise.all([...workers, queue].map((one) => one.close()));
      }
      node.destroy();
    }, 90_000);
  },
);
