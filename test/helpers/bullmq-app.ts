import { connect } from 'node:net';
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
  const open: Closable[] = [];
  const connection = { host: '127.0.0.1', port: redis.port };

  function opened<T extends BullMQ.Queue | BullMQ.Worker | BullMQ.FlowProducer>(made: T): T {
    const closable = made as unknown as Closable;
    closable.on('error', () => {});
    open.push(closable);
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
      redis.thaw();
      const isThere = await isListening(redis.port);
      // A worker does not wait for its jobs, and nothing waits for a Redis that is gone.
      const closing = open.map((one) => ('run' in one || isThere ? one.close(true) : disconnect(one)));
      await Promise.allSettled(closing);
      await redis.close();
    },
  };
}

interface Closable {
  readonly client: Promise<{ disconnect(): void }>;
  close(force?: boolean): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
}

/** Ends the client of one that may never have been connected. */
function disconnect({ client }: Closable): void {
  void client.then(
    (connected) => connected.disconnect(),
    () => {},
  );
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
