import type * as BullMQ from 'bullmq';
import { type RedisServer, startRedis, until } from './redis-server.ts';

/** A Redis of its own with queues and workers, all of which are ended together. */
export interface BullMQApp {
  readonly redis: RedisServer;
  queue(name: string, options?: Partial<BullMQ.QueueOptions>): BullMQ.Queue;
  /** A worker that is not awaited. */
  worker(name: string, processor: BullMQ.Processor, options?: Partial<BullMQ.WorkerOptions>): BullMQ.Worker;
  flow(options?: Partial<BullMQ.QueueBaseOptions>): BullMQ.FlowProducer;
  /** Resolves once this many jobs of a queue are in these states. */
  settled(queue: BullMQ.Queue, count: number, ...states: BullMQ.JobType[]): Promise<void>;
  close(): Promise<void>;
}

/** @param bullmq the version to use */
export async function startBullMQ(bullmq: typeof BullMQ, ...redisArgs: string[]): Promise<BullMQApp> {
  const redis = await startRedis('--maxmemory-policy', 'noeviction', ...redisArgs);
  const open: { close(): Promise<unknown> }[] = [];
  const connection = { host: '127.0.0.1', port: redis.port };

  function opened<T extends { close(): Promise<unknown>; on(event: 'error', listener: () => void): unknown }>(
    made: T,
  ): T {
    made.on('error', () => {});
    open.push(made);
    return made;
  }
  return {
    redis,
    queue: (name, options) => opened(new bullmq.Queue(name, { connection, ...options })),
    worker: (name, processor, options) =>
      opened(new bullmq.Worker(name, processor, { connection, drainDelay: 1, ...options })),
    flow: (options) => opened(new bullmq.FlowProducer({ connection, ...options })),
    settled: (queue, count, ...states) =>
      until(async () => (await queue.getJobCountByTypes(...states)) === count, 60_000),
    async close() {
      const closing = Promise.allSettled(open.map((one) => one.close()));
      // They wait for a Redis that may be gone.
      await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, 3_000).unref())]);
      await redis.close();
    },
  };
}
