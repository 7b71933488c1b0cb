/** A Redis of its own for each test, and a monitor's view of its queues. */
import { afterEach, beforeEach } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, startRedis } from '../helpers/redis-server.ts';
import { type Lab, openLab } from './queues-lab.ts';

/** For one `describe`. What a test opens is closed behind it. */
export function useQueueRedis() {
  let redis: RedisServer;
  let client: ReturnType<typeof createClient>;
  let lab: Lab | null = null;

  beforeEach(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    client.on('error', () => {});
    await client.connect();
  });

  afterEach(async () => {
    await lab?.close();
    lab = null;
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
      lab = openLab(url);
      await lab.queues.ready();
      return lab;
    },
  };
}

/** An event of a task, dated by the number in its id. */
export function heard(id: string, more: Partial<TaskChange> = {}): TaskChange {
  return {
    id,
    type: 'received',
    time: Date.UTC(2026, 10, 21) + Number(id.replace(/\D/g, '')),
    origin: 'event',
    worker: 'w@h',
    name: 'yard.known',
    ...more,
  };
}
