import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';

const DAILY = JSON.stringify({
  name: 'daily',
  task: 'report',
  schedule: { __type__: 'interval', every: 30, relative: false },
  enabled: true,
});

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, "redbeat's schedule in celerySources"),
  () => {
    let redis: RedisServer;
    const ends: (() => unknown)[] = [];

    beforeAll(async () => {
      redis = await startRedis();
    });
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });
    afterAll(() => redis?.close());

    /** Fills one database with the schedule of a redbeat that runs. */
    async function fill(database: number): Promise<void> {
      const writer = createClient({ url: redis.url(database) });
      await writer.connect();
      await writer.flushDb();
      await writer.hSet('redbeat:daily', 'definition', DAILY);
      await writer.zAdd('redbeat::schedule', { value: 'redbeat:daily', score: 1_800_000_000 });
      await writer.set('redbeat::lock', 'x', { PX: 1_450_000 });
      writer.destroy();
    }

    function sourcesOf(options: CelerySourcesOptions): CelerySources {
      const sources = celerySources({ control: false, ...options });
      ends.push(() => sources.close());
      return sources;
    }

    const idsOf = async (sources: CelerySources): Promise<string[] | null> =>
      (await sources.schedules.listSchedules(context))?.map(({ id }) => id) ?? null;

    it('is read from redbeat_redis_url when the broker is not Redis', async () => {
      await fill(5);
      const sources = sourcesOf({
        broker: 'amqp://shop',
        backend: redis.url(1),
        settings: { redbeat_redis_url: redis.url(5) },
      });
      expect(await idsOf(sources)).toEqual(['redbeat:daily']);
      expect(await componentOf(sources, 'beat')).toMatchObject({ status: 'up', config: { entries: 1 } });
    });

    it('is not looked for where nothing says in which Redis it is', async () => {
      const sources = sourcesOf({ broker: 'amqp://shop', backend: redis.url(1) });
      expect(await idsOf(sources)).toBe(null);
      expect(await componentOf(sources, 'beat')).toMatchObject({ status: 'disabled', config: { hints: [] } });
    });

    it('is read behind Sentinels', async () => {
      await fill(4);
      const sentinel = await startSentinel(redis.port);
      ends.push(() => sentinel.close());
      const sources = sourcesOf({
        broker: redis.url(0),
        settings: {
          redbeat_redis_url: 'redis-sentinel://sentinel:26379/0',
          redbeat_redis_options: { sentinels: [['127.0.0.1', sentinel.port]], service_name: 'shop', db: 4 },
        },
      });
      expect(await idsOf(sources)).toEqual(['redbeat:daily']);
      expect(await componentOf(sources, 'beat')).toMatchObject({ status: 'up' });
    });

    it('is never that of the broker when redbeat_redis_url cannot be read, and a hint says so', async () => {
      await fill(0);
      for (const [url, hint] of [
        [
          'redis-cluster://beat:30001/0',
          /^redbeat_redis_url begins with redis-cluster:, which this source cannot read/,
        ],
        ['redis-sentinel://beat:26379/0', /Write settings: \{ redbeat_redis_options: \{ sentinels: /],
      ] as const) {
        const sources = sourcesOf({ broker: redis.url(0), settings: { redbeat_redis_url: url } });
        expect(await idsOf(sources)).toEqual([]);
        expect(await componentOf(sources, 'beat')).toMatchObject({
          status: 'unknown',
          config: { entries: null, hints: [expect.stringMatching(hint)] },
        });
      }
    });
  },
);
