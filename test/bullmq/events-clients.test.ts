import { Cluster } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { feed, follow } from '../helpers/bullmq-events.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { type RedisCluster, startCluster } from '../helpers/redis-cluster.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'the feed of $label is read over'),
  ({ bullmq }) => {
    let cluster: RedisCluster;
    const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
      client.on('error', () => {});
      return client;
    };

    beforeAll(async () => {
      cluster = await startCluster();
    });
    afterAll(() => cluster?.close());

    it('a cluster, by ioredis and node-redis alike', async () => {
      const io = quiet(new Cluster([...cluster.nodes], { redisOptions: { maxRetriesPerRequest: null } }));
      const made = ['{bull}', '{b}', '{x}'].map((prefix, index) =>
        quiet(new bullmq.Queue(`q${index}`, { connection: io as never, prefix })),
      );
      for (let n = 0; n < 10; n += 1) for (const queue of made) await queue.add(`n${n}`, {});
      const all = bullmqSources({ queues: made });
      const { events, gaps } = await follow(all, { time: new Date(0) }, { limit: 4 });
      expect([new Set(events.map(({ id }) => id)).size, events.length, gaps]).toEqual([30, 30, 0]);
      expect((await feed(all)).events).toEqual(events.toReversed());
      all.close();
      const node = quiet(
        createCluster({
          rootNodes: cluster.nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` })),
        }),
      );
      await node.connect();
      const one = bullmqSources({ connection: node, prefix: '{x}' });
      const own = await follow(one, { time: new Date(0) }, { limit: 3 });
      expect([own.events.map(({ task }) => task), own.gaps]).toEqual([
        Array.from({ length: 10 }, (_, n) => `n${n}`),
        0,
      ]);
      one.close();
      node.destroy();
      for (const queue of made) await queue.close();
      io.disconnect();
    });

    it.each([2, 3] as const)('node-redis that speaks RESP %d', async (RESP) => {
      const server = await startRedis();
      const node = quiet(createClient({ url: server.url(), RESP }));
      await node.connect();
      const queue = quiet(new bullmq.Queue('mail', { connection: { port: server.port } }));
      for (let n = 0; n < 5; n += 1) await queue.add(`n${n}`, {});
      const sources = bullmqSources({ connection: node });
      const { events, gaps } = await follow(sources, { time: new Date(0) }, { limit: 2 });
      expect([events.map(({ task, type }) => `${task} ${type}`), gaps]).toEqual([
        Array.from({ length: 5 }, (_, n) => `n${n} task-sent`),
        0,
      ]);
      await node.sendCommand(['XTRIM', 'bull:mail:events', 'MAXLEN', '3']);
      expect((await feed(sources, { since: { time: new Date(0) } })).gap).toBe(true);
      sources.close();
      node.destroy();
      await queue.close();
      await server.close();
    });
  },
);
