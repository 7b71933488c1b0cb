import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { TaskEvent } from '../../src/model.ts';
import { cursorOf, feed, follow } from '../helpers/bullmq-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const TIME = 1_790_000_000_000;
const QUEUES = ['a', 'b', 'c'];

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the feed of several queues'), () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.port, '127.0.0.1');
    redis.on('error', () => {});
  });

  beforeEach(async () => {
    await redis.flushall();
    for (const queue of QUEUES) await redis.hset(`bull:${queue}:meta`, 'version', 'bullmq:6.7.0');
  });

  afterAll(async () => {
    redis?.disconnect();
    await server?.close();
  });

  async function onSources<T>(use: (sources: BullMQSources) => Promise<T>): Promise<T> {
    const sources = bullmqSources({ connection: server.url() });
    try {
      return await use(sources);
    } finally {
      sources.close();
    }
  }

  /** An entry at this millisecond of the test, or the next that Redis allows. */
  async function add(queue: string, at: number, job = 'j'): Promise<string> {
    const id = await redis.xadd(`bull:${queue}:events`, `${TIME + at}-*`, 'event', 'active', 'jobId', job);
    return `${queue}:${id}`;
  }

  const entries = fc.array(fc.tuple(fc.constantFrom(...QUEUES), fc.nat(30)), {
    minLength: 1,
    maxLength: 120,
  });

  it('is in the order of time, and is paged without losing or repeating any', async () => {
    await fc.assert(
      fc.asyncProperty(entries, fc.integer({ min: 1, max: 40 }), async (list, limit) => {
        for (const queue of QUEUES) await redis.del(`bull:${queue}:events`);
        const sorted = list.toSorted(([x, a], [y, b]) => a - b || (x < y ? -1 : x > y ? 1 : 0));
        const ids: string[] = [];
        for (const [queue, at] of sorted) ids.push(await add(queue, at));
        await onSources(async (sources) => {
          expect((await feed(sources, { limit })).events.map(({ id }) => id)).toEqual(
            ids.toReversed().slice(0, limit),
          );
          const whole = await follow(sources, { time: new Date(0) }, { limit });
          expect([whole.events.map(({ id }) => id), whole.gaps]).toEqual([ids, 0]);
        });
      }),
      { seed: 5, numRuns: 25 },
    );
  });

  it('goes on from any cursor on any instance, whatever comes between, in whatever order of queues', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entries, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (parts, limit) => {
          for (const queue of QUEUES) await redis.del(`bull:${queue}:events`);
          const wanted: string[] = [];
          const seen: string[] = [];
          let cursor = await onSources(cursorOf);
          for (const [round, list] of parts.entries()) {
            // Not sorted: a queue may get an entry of a time that another one has passed already.
            const latest = new Map<string, number>();
            for (const [queue, at] of list) {
              const time = Math.max(latest.get(queue) ?? 0, at);
              latest.set(queue, time);
              wanted.push(await add(queue, round * 31 + time));
            }
            await onSources(async (sources) => {
              const { events, cursor: next, gap } = await feed(sources, { since: { cursor }, limit });
              expect(gap).toBe(false);
              seen.push(...events.toReversed().map(({ id }) => id));
              cursor = next;
            });
          }
          const rest = await onSources((sources) => follow(sources, { cursor }, { limit }));
          seen.push(...rest.events.map(({ id }) => id));
          expect(rest.gaps).toBe(0);
          expect(seen.toSorted()).toEqual(wanted.toSorted());
        },
      ),
      { seed: 6, numRuns: 20 },
    );
  });

  it('reaches back as far as asked, and finds what filters ask for there', async () => {
    const line = redis.pipeline();
    for (let at = 0; at < 6_000; at += 1) {
      const event = at === 10 ? 'completed' : 'active';
      line.xadd(`bull:${at % 2 ? 'a' : 'b'}:events`, `${TIME + at}-0`, 'event', event, 'jobId', String(at));
    }
    await line.exec();
    await onSources(async (sources) => {
      expect((await feed(sources)).events.length).toBe(1_000);
      const { events } = await feed(sources, { states: ['SUCCESS'] });
      expect(events.map(({ taskId }) => taskId)).toEqual(['b:10']);
      const oldest = await feed(sources, { since: { time: new Date(0) }, limit: 3 });
      expect(oldest.events.map(({ taskId }) => taskId)).toEqual(['b:2', 'a:1', 'b:0']);
      expect(oldest.gap).toBe(false);
    });
    await onSources(async (sources) => {
      const whole = await follow(sources, { time: new Date(0) });
      expect([whole.events.length, whole.gaps]).toEqual([6_000, 0]);
      // What matches nothing is not looked at for ever.
      const { cursor } = await feed(sources, { since: { time: new Date(0) }, states: ['REVOKED'] });
      expect((await feed(sources, { since: { cursor } })).events).toEqual([]);
    });
  });

  it('says that there is a gap when a stream was trimmed behind the cursor, and goes on without one', async () => {
    for (let at = 0; at < 50; at += 1) await add('a', at);
    await add('b', 0);
    const { cursor } = await onSources((sources) =>
      feed(sources, { since: { time: new Date(0) }, limit: 10 }),
    );
    const near = await onSources(cursorOf);
    await redis.xtrim('bull:a:events', 'MAXLEN', 20);
    const { events, gap, cursor: next } = await onSources((sources) => feed(sources, { since: { cursor } }));
    expect([events.length, gap]).toEqual([20, true]);
    await onSources(async (sources) => {
      expect((await feed(sources, { since: { time: new Date(0) } })).gap).toBe(true);
      for (const place of [next, near]) {
        expect(await feed(sources, { since: { cursor: place } })).toEqual({
          events: [],
          cursor: place,
          gap: false,
        });
      }
    });
  });

  it.each(['a queue was obliterated', 'Redis has lost its data', 'Redis has data from before'])(
    'says that there is a gap when %s, once, and goes on with what comes',
    async (what) => {
      for (let at = 0; at < 5; at += 1) for (const queue of QUEUES) await add(queue, at);
      const cursor = await onSources(cursorOf);
      if (what === 'a queue was obliterated') await redis.del('bull:a:events', 'bull:a:meta');
      else await redis.flushall();
      if (what === 'Redis has data from before') {
        await redis.hset('bull:a:meta', 'version', 'x');
        await add('a', 1);
      }
      const first = await onSources((sources) => feed(sources, { since: { cursor } }));
      expect([first.events, first.gap]).toEqual([[], true]);
      const again = await onSources((sources) => feed(sources, { since: { cursor: first.cursor } }));
      expect([again.events, again.gap]).toEqual([[], false]);
      await redis.hset('bull:a:meta', 'version', 'x');
      const id = await add('a', 100_000);
      const { events, gap } = await onSources((sources) =>
        feed(sources, { since: { cursor: first.cursor } }),
      );
      expect([events.map((event) => event.id), gap]).toEqual([[id], false]);
    },
  );

  it('places a moment where its answer stood, on the instance that gave it', async () => {
    await onSources(async (sources) => {
      await add('a', 0);
      const shown = new Set<string>();
      for (const { id } of (await feed(sources)).events) shown.add(id);
      // The `generated_at` of an answer is taken after its data.
      let answered = new Date();
      for (let round = 1; round < 4; round += 1) {
        // Its time says that it is of long ago; it has come now.
        const id = await add('b', round);
        const time = answered;
        let events: readonly TaskEvent[] = [];
        // The stream is looked at once a second.
        await until(async () => {
          ({ events } = await feed(sources, { since: { time } }));
          answered = new Date();
          return events.length > 0;
        });
        expect([round, events.map((event) => event.id)]).toEqual([round, [id]]);
      }
      expect(shown.size).toBe(1);
      expect((await feed(sources, { since: { time: new Date(Date.now() + 3_600_000) } })).events).toEqual([]);
    });
  });
});
