/** The sources that read Redis, each with something in it to be read. */
import { createClient } from 'redis';
import { expect, onTestFinished } from 'vitest';
import { type BullMQSourcesOptions, bullmqSources } from '../../../src/bullmq.ts';
import { celerySources } from '../../../src/celery.ts';
import type { MonitorOptions } from '../../../src/index.ts';
import type { MonitorSources } from '../../../src/source.ts';
import type { ComponentsBody, TasksBody } from '../../../src/wire.ts';
import { fillQueues } from '../../helpers/bullmq-fill.ts';
import { type RedisServer, startRedis, until } from '../../helpers/redis-server.ts';
import type { Host } from '../../router/host-kit.ts';
import type { FaultBench } from './fault-case.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A source that reads Redis. */
export interface RedisSource {
  readonly name: 'celery' | 'bullmq';
  /** Reads the Redis at this address. */
  connect(url: string): MonitorSources;
  /** Writes a few tasks, some of them ended. */
  fill(redis: RedisServer): Promise<void>;
}

/** How many tasks `fill` writes. */
export const FILLED = 30;

export const REDIS_SOURCES: readonly RedisSource[] = [
  {
    name: 'celery',
    connect: (url) => celerySources({ broker: url, backend: url }),
    async fill(redis) {
      const client = await admin(redis);
      for (let index = 0; index < FILLED; index += 1) {
        const id = `task-${index}`;
        const result = { status: 'SUCCESS', result: index, traceback: null, children: [], task_id: id };
        await client.set(`celery-task-meta-${id}`, JSON.stringify(result));
      }
    },
  },
  {
    name: 'bullmq',
    connect: (url) => bullmqSources({ connection: url } satisfies BullMQSourcesOptions),
    fill: ({ port }) =>
      fillQueues(
        port,
        { queue: 'mail', part: 'completed', count: FILLED / 2, time: Date.UTC(2026, 10, 21) },
        {
          queue: 'mail',
          part: 'wait',
          first: FILLED / 2 + 1,
          count: FILLED / 2,
          time: Date.UTC(2026, 10, 21),
        },
      ),
  },
];

// RESP 2, so that it works where Redis knows no HELLO.
const connectTo = (url: string) => createClient({ url, RESP: 2 });

/** A client of the test's own, until it ends. */
export async function admin(redis: RedisServer): Promise<ReturnType<typeof connectTo>> {
  const client = connectTo(redis.url());
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

/** A Redis, until the test ends. */
export async function redisFor(...args: string[]): Promise<RedisServer> {
  const redis = await startRedis(...args);
  onTestFinished(() => redis.close());
  return redis;
}

/** One source over a link that can be spoilt. */
export interface SpoiltHost {
  readonly source: RedisSource;
  readonly redis: RedisServer;
  readonly proxy: TcpProxy;
  readonly host: Host;
}

/** Serves a source that reads its own Redis through a proxy; resolves when it shows what is in it. */
export async function serveSpoilt(
  bench: FaultBench,
  source: RedisSource,
  options: MonitorOptions = {},
): Promise<SpoiltHost> {
  const redis = await redisFor();
  await source.fill(redis);
  const proxy = await startTcpProxy(redis.port);
  const sources = source.connect(`redis://127.0.0.1:${proxy.port}/0`);
  const host = await bench.serve({ sources, ...options });
  await untilCurrent(host);
  return { source, redis, proxy, host };
}

/** Resolves when the list is current and shows what was filled in. @returns milliseconds */
export async function untilCurrent(host: Host, ms = 30_000): Promise<number> {
  const start = performance.now();
  await until(async () => {
    const { status, body } = await host.get<TasksBody>('/api/tasks/?limit=1000');
    return status === 200 && body.sources.every(({ ok }) => ok) && body.tasks.length >= FILLED;
  }, ms);
  return performance.now() - start;
}

/** What may be answered while a source is away: what it held, said to be old, or a failure. */
const AWAY = {
  status: [200, 503, 504],
  code: ['source_unavailable', 'source_timeout', undefined as unknown as string],
} as const;

/** Asks for tasks while their source is away: what is shown has to say so. */
export async function expectAway(bench: FaultBench, host: Host, path: string, aimMs: number): Promise<void> {
  const { status, body } = await bench.expectAnswer<TasksBody>(host, path, { ...AWAY, aimMs });
  if (status === 200) expect(body.sources).toMatchObject([{ ok: false, as_of: expect.any(String) }]);
}

/** What the components say of themselves, as one text. */
export async function componentTexts(host: Host): Promise<string> {
  const { status, body } = await host.get<ComponentsBody>('/api/components/');
  expect(status).toBe(200);
  return JSON.stringify(body);
}
