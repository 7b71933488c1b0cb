/** A Redis of its own for each test, and a monitor's view of its queues. */
import { afterEach, beforeEach } from 'vitest';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, startRedis } from '../helpers/redis-server.ts';
import { type Lab, openLab } from './queues-lab.ts';

/** For one `describe`. */
export function useQueueRedis() {
  let redis: RedisServer;
  let client: ReturnType<typeof createClient>;

  beforeEach(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    client.on('error', () => {});
    await client.connect();
  });

  afterEach(async () => {
    client?.destroy();
    await redis?.close();
  });

  return {
    get redis(): RedisServer {
      return redis;
    },
    /** Writes what waits. */
    get client(): typeof client {
      return client;
    },
    /** Puts messages in the queue `celery`, and resolves when the monitor has read them. */
    async open(messages: readonly string[], url = redis.url()): Promise<Lab> {
      if (messages.length > 0) await client.lPush('celery', [...messages]);
      return openLab(url);
    },
  };
}
