import { createClient } from 'redis';
import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { feed, follow } from '../helpers/bullmq-events.ts';
import { SAMPLED_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null).each(SAMPLED_VERSIONS)(
  titleUnless(redisMissing, 'the feed of $label is read over'),
  ({ bullmq }) => {
    const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
      client.on('error', () => {});
      return client;
    };

    it.each([2, 3] as const)('node-redis that speaks RESP %d', async (RESP) => {
      const server = await startRedis();
      const node = quiet(createClient({ url: server.url(), RESP }));
      await node.connect();
      const queue = quiet(new bullmq.Queue('mail', { connection: { host: '127.0.0.1', port: server.port } }));
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
