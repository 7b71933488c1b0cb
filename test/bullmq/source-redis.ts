/** A private Redis, a client that writes to it, and sources that read it by its address. */
import { Redis } from 'ioredis';
import { afterEach, beforeEach } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import { type RedisServer, startRedis } from '../helpers/redis-server.ts';

export interface SourceRedis {
  readonly server: RedisServer;
  /** Writes jobs as BullMQ stores them. */
  readonly redis: Redis;
  readonly sources: BullMQSources;
}

/** @param queues the names of empty queues of BullMQ 6 that it has from the start */
export async function openSourceRedis(
  ...queues: string[]
): Promise<SourceRedis & { close(): Promise<void> }> {
  const server = await startRedis();
  const redis = new Redis(server.port, '127.0.0.1');
  redis.on('error', () => {});
  for (const queue of queues) await redis.hset(`bull:${queue}:meta`, 'version', 'bullmq:6.7.0');
  const sources = bullmqSources({ connection: server.url() });
  return {
    server,
    redis,
    sources,
    async close() {
      sources.close();
      redis.disconnect();
      await server.close();
    },
  };
}

/** For one `describe`: each test has one of its own, which is closed after it. */
export function useSourceRedis(...queues: string[]): SourceRedis {
  let opened: Awaited<ReturnType<typeof openSourceRedis>> | null = null;

  beforeEach(async () => {
    opened = await openSourceRedis(...queues);
  });

  afterEach(async () => {
    await opened?.close();
    opened = null;
  });

  const current = (): SourceRedis => {
    if (opened === null) throw new Error('A Redis is open only while a test runs.');
    return opened;
  };
  return {
    get server() {
      return current().server;
    },
    get redis() {
      return current().redis;
    },
    get sources() {
      return current().sources;
    },
  };
}
