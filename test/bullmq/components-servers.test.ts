import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { Component } from '../../src/model.ts';
import { fillQueues } from '../helpers/bullmq-fill.ts';
import { context } from '../helpers/bullmq-read.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'components of BullMQ'), () => {
  it('tell each Redis once, without secrets, also while one is away', async () => {
    const [one, two] = [await startRedis('--requirepass', 'sesame'), await startRedis()];
    const places = [
      { port: one.port, password: 'sesame' },
      { port: two.port },
      { port: one.port, password: 'sesame' },
    ];
    const queues = places.map(
      (place, index) => new Queue(`q${index}`, { connection: { host: '127.0.0.1', ...place } }),
    );
    for (const queue of queues) queue.on('error', () => {});
    const sources = bullmqSources({ queues });
    const list = (): Promise<readonly Component[]> =>
      Promise.resolve(sources.components.listComponents(context));
    expect(
      (await list()).map(({ key, url, config }) => [
        key,
        url,
        (config?.queues as { name: string }[] | undefined)?.map(({ name }) => name),
      ]),
    ).toEqual([
      ['redis', one.url(), ['q0', 'q2']],
      ['redis-2', two.url(), ['q1']],
    ]);
    await two.kill();
    await until(async () => (await list())[1]?.status === 'down');
    const [first, second] = await list();
    expect(first?.status).toBe('up');
    expect(second).toMatchObject({
      url: two.url(),
      config: { error: expect.stringContaining('Redis'), hints: [] },
    });
    expect(second?.config).not.toHaveProperty('queues');
    expect(await sources.queues.listQueues(context)).toMatchObject([
      { name: 'q0', waiting: 0, consumers: 0, asOf: expect.any(Date) },
      { name: 'q2', waiting: 0, consumers: 0, asOf: expect.any(Date) },
      { name: 'q1', waiting: null, consumers: null, oldestDueAt: null, asOf: null },
    ]);
    expect(JSON.stringify([first, second])).not.toContain('sesame');
    await two.start();
    await until(async () => (await list())[1]?.status === 'up');
    sources.close();
    await Promise.all(queues.map((queue) => queue.close()));
    await Promise.all([one.close(), two.close()]);
  }, 60_000);

  it('cost as many commands for many jobs as for few, as queues, workers and health do', async () => {
    const redis = await startRedis();
    const admin = new Redis(redis.port, '127.0.0.1');
    const fill = (first: number, count: number): Promise<void> =>
      fillQueues(
        redis.port,
        { queue: 'a', part: 'wait', first, count, time: 1 },
        { queue: 'b', part: 'completed', first, count, time: 1 },
      );
    await fill(1, 5);
    // Found queues are looked for again from time to time; given ones are not.
    const queues = ['a', 'b'].map(
      (name) => new Queue(name, { connection: { host: '127.0.0.1', port: redis.port } }),
    );
    await Promise.all(queues.map((queue) => queue.waitUntilReady()));
    const sources = bullmqSources({ queues });
    async function cost(): Promise<number> {
      const processed = async (): Promise<number> =>
        Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1]);
      const before = await processed();
      await sources.components.listComponents(context);
      await sources.workers.listWorkers(context);
      await sources.queues.listQueues(context);
      await sources.health.checkBroker?.(context);
      return (await processed()) - before;
    }
    await cost();
    const few = await cost();
    await fill(6, 5_000);
    expect(await cost()).toBe(few);
    // A queue's figures are read for the component and for the list of queues.
    expect(few).toBeLessThan(110);
    sources.close();
    await Promise.all(queues.map((queue) => queue.close()));
    admin.disconnect();
    await redis.close();
  }, 60_000);

  it('tell queues behind a Sentinel once, by its address', async () => {
    const redis = await startRedis();
    const sentinel = await startSentinel(redis.port);
    const connection = { sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: 'shop', db: 2 };
    const queues = ['a', 'b'].map((name) => new Queue(name, { connection }));
    const sources = bullmqSources({ queues });
    const [component, ...others] = await sources.components.listComponents(context);
    expect(others).toEqual([]);
    expect(component).toMatchObject({
      status: 'up',
      url: `redis-sentinel://127.0.0.1:${sentinel.port}/shop/2`,
      config: { queues: [{ name: 'a' }, { name: 'b' }] },
    });
    sources.close();
    await Promise.all(queues.map((queue) => queue.close()));
    await sentinel.close();
    await redis.close();
  }, 60_000);
});
