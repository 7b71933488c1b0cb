import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { fillQueues } from '../helpers/bullmq-fill.ts';
import { context, detail, page } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {});
  return client;
};

describe.skipIf(redisMissing !== null).each(BULLMQ_VERSIONS)(
  titleUnless(redisMissing, 'queues of $label are read over'),
  ({ bullmq, label }) => {
    let app: BullMQApp;

    beforeAll(async () => {
      app = await startBullMQ(bullmq);
    });
    afterAll(() => app?.close());

    it('their own connections, which stay open', async () => {
      const [one, two] = [app.queue('one'), app.queue('two', { prefix: 'other:app' })];
      await one.add('a', {});
      await two.add('b', {});
      const sources = bullmqSources({ queues: [two, one] });
      expect((await page(sources)).tasks.map(({ queue }) => queue).toSorted()).toEqual(['one', 'two']);
      sources.close();
      await expect(page(sources)).rejects.toThrow('closed');
      expect(await one.count()).toBe(1);
      await two.add('c', {});
    });

    it('a client that they share, of ioredis or node-redis', async () => {
      const io = quiet(new Redis(app.redis.port, '127.0.0.1', { maxRetriesPerRequest: null }));
      const node = quiet(createClient({ url: app.redis.url() }));
      await node.connect();
      // BullMQ 5 takes none of node-redis.
      const clients = label === 'BullMQ 5' ? { io } : { io, node };
      for (const [name, connection] of Object.entries(clients)) {
        const own = quiet(new bullmq.Queue(name, { connection: connection as never }));
        const job = await own.add('a', { text: 'ü€𝄞' });
        const sources = bullmqSources({ queues: [own] });
        expect((await detail(sources, `${name}:${job.id}`))?.args).toBe('{"text":"ü€𝄞"}');
        expect((await page(sources)).total).toBe(1);
        sources.close();
        await own.close();
      }
      expect(await io.ping()).toBe('PONG');
      expect(await node.ping()).toBe('PONG');
      io.disconnect();
      node.destroy();
    });
  },
);

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a connection'), () => {
  it('is a URL, options, or a client that is left open', async () => {
    const redis = await startRedis('--requirepass', 'sesame');
    const { port } = redis;
    const io = quiet(new Redis({ host: '127.0.0.1', port, password: 'sesame' }));
    const io2 = quiet(
      new Redis({ host: '127.0.0.1', port, password: 'sesame', lazyConnect: true, protocol: 2 }),
    );
    const node = quiet(createClient({ url: `redis://:sesame@127.0.0.1:${port}` }));
    const node2 = quiet(createClient({ RESP: 2, url: `redis://:sesame@127.0.0.1:${port}` }));
    await Promise.all([node.connect(), node2.connect()]);
    for (const [index, connection] of [
      `redis://:sesame@127.0.0.1:${port}/0`,
      `redis://default:sesame@127.0.0.1:${port}`,
      { host: '127.0.0.1', port, password: 'sesame' },
      { url: `redis://127.0.0.1:${port}`, password: 'sesame' },
      io,
      io2,
      node,
      node2,
    ].entries()) {
      await io.hset('bull:mail:meta', 'version', 'x');
      const sources = bullmqSources({ connection });
      expect([index, (await page(sources)).total]).toEqual([index, 0]);
      await io.hset('bull:mail:1', { name: 'a', timestamp: '1790000000000', data: '{}' });
      await io.lpush('bull:mail:wait', '1');
      await io.zadd('bull:mail:delayed', 1790000000500 * 4096, '1');
      expect([index, (await page(sources)).tasks.length]).toEqual([index, 1]);
      expect((await detail(sources, 'mail:1'))?.id).toBe('mail:1');
      sources.close();
      await io.flushall();
    }
    for (const client of [io, io2]) {
      expect(await client.ping()).toBe('PONG');
      client.disconnect();
    }
    for (const client of [node, node2]) {
      expect(await client.ping()).toBe('PONG');
      client.destroy();
    }
    await redis.close();
  });

  it('finds queues by their prefix, also new ones, and no others', async () => {
    const redis = await startRedis();
    await fillQueues(
      redis.port,
      { queue: 'a', part: 'wait', count: 3_000, time: 1 },
      { queue: 'b', part: 'failed', count: 1, time: 1, prefix: 'x*[y]?' },
      { queue: 'c', part: 'failed', count: 1, time: 1, prefix: 'xzzy1' },
    );
    const io = new Redis(redis.port, '127.0.0.1');
    await io.hset('bull:a:meta:meta', 'x', 'y');
    await io.hset('bull::meta', 'x', 'y');
    const all = bullmqSources({ connection: redis.url() });
    const own = bullmqSources({ connection: redis.url(), prefix: 'x*[y]?' });
    expect((await page(all, { limit: 0 })).total).toBe(3_000);
    expect((await page(own)).tasks.map(({ id }) => id)).toEqual(['b:1']);
    all.close();
    own.close();
    io.disconnect();
    await redis.close();
  });

  it('that is refused says why without secrets, and works as soon as it may', async () => {
    const redis = await startRedis('--requirepass', 'sesame');
    const admin = quiet(new Redis({ host: '127.0.0.1', port: redis.port, password: 'sesame' }));
    const sources = bullmqSources({ connection: `redis://:wrong-secret@127.0.0.1:${redis.port}` });
    await expect(page(sources)).rejects.toThrow('Redis refuses the user name or password.');
    expect(sources.tasks.status?.()).toMatchObject({ ok: false, asOf: null, error: 'source_unavailable' });
    await admin.config('SET', 'requirepass', 'wrong-secret');
    await until(() => sources.tasks.status?.().ok === true);
    expect((await page(sources)).total).toBe(0);
    sources.close();
    const none = bullmqSources({ connection: 'redis://user:wrong-secret@127.0.0.1:1/0' });
    await expect(page(none)).rejects.toThrow('Redis refuses connections: nothing listens at that address.');
    none.close();
    admin.disconnect();
    await redis.close();
  });

  it.each(['own', 'given'])(
    'that falls silent is told within the time limit, and is used again: %s',
    async (kind) => {
      const redis = await startRedis();
      const io = quiet(new Redis(redis.port, '127.0.0.1'));
      await fillQueues(redis.port, { queue: 'a', part: 'wait', count: 10, time: 1 });
      const sources = bullmqSources({ connection: kind === 'own' ? redis.url() : io });
      await page(sources);
      redis.freeze();
      const began = performance.now();
      const reads = Array.from({ length: 50 }, () =>
        page(sources).then(
          () => 'read',
          ({ message }) => message,
        ),
      );
      expect(new Set(await Promise.all(reads))).toEqual(new Set(['Redis does not answer.']));
      expect(performance.now() - began).toBeLessThan(30_000);
      expect(sources.tasks.status?.().ok).toBe(false);
      expect(sources.tasks.status?.().asOf).toBeInstanceOf(Date);
      redis.thaw();
      await until(() => sources.tasks.status?.().ok === true);
      expect((await page(sources)).total).toBe(10);
      sources.close();
      io.disconnect();
      await redis.close();
    },
    30_000,
  );

  it('ends a read that nobody waits for', async () => {
    const redis = await startRedis();
    await fillQueues(redis.port, { queue: 'a', part: 'wait', count: 1_000, time: 1 });
    const sources = bullmqSources({ connection: redis.url() });
    const read = sources.tasks.getTask('a:1', { signal: AbortSignal.abort() });
    await expect(Promise.resolve(read)).rejects.toThrow();
    expect(sources.tasks.status?.().ok).toBe(true);
    expect((await sources.tasks.getTask('a:1', context))?.id).toBe('a:1');
    sources.close();
    await redis.close();
  });
});
