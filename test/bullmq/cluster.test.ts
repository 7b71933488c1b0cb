import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { detail, page, tree, walk } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { type RedisCluster, startCluster } from '../helpers/redis-cluster.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';

const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {});
  return client;
};

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'a cluster of Redis with $label'),
  ({ bullmq }) => {
    let cluster: RedisCluster;
    let client: Cluster;

    beforeAll(async () => {
      cluster = await startCluster();
      client = quiet(new Cluster([...cluster.nodes], { redisOptions: { maxRetriesPerRequest: null } }));
    });

    afterAll(async () => {
      client?.disconnect();
      await cluster?.close();
    });

    it('is read with hash-tagged prefixes, each queue where it lies', async () => {
      const made = ['{bull}', '{b}', '{x}'].map((prefix, index) =>
        quiet(new bullmq.Queue(`q${index}`, { connection: client as never, prefix })),
      );
      for (const queue of made)
        await queue.addBulk(Array.from({ length: 40 }, (_, n) => ({ name: 'a', data: { n } })));
      const flow = new bullmq.FlowProducer({ connection: client as never, prefix: '{bull}' });
      const { job } = await flow.add({
        name: 'p',
        queueName: 'q0',
        children: [{ name: 'c', queueName: 'q9' }],
      });
      const sources = bullmqSources({ queues: made });
      expect((await walk(sources, { limit: 33 })).length).toBe(121);
      expect((await detail(sources, `q0:${job.id}`))?.children?.length).toBe(1);
      sources.close();
      const found = bullmqSources({ connection: client, prefix: '{bull}' });
      expect((await walk(found)).map(({ queue }) => queue)).toContain('q9');
      expect((await tree(found, `q0:${job.id}`))?.tasks.length).toBe(2);
      found.close();
      const node = quiet(
        createCluster({
          rootNodes: cluster.nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` })),
        }),
      );
      await node.connect();
      // Keys of each prefix lie on one of the nodes, and no two of them on the same.
      for (const prefix of ['{bull}', '{b}', '{x}']) {
        const other = bullmqSources({ connection: node, prefix });
        expect((await page(other)).total).toBeGreaterThanOrEqual(40);
        other.close();
      }
      await node.destroy();
      await flow.close();
      for (const queue of made) await queue.close();
    });
  },
);
