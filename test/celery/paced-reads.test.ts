import { setTimeout as sleep } from 'node:timers/promises';
import { createClient as createClient5 } from 'redis5';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Connection, createConnection } from '../../src/redis/connection.ts';
import type { OpenClient } from '../../src/redis/node-redis.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a subscriber'), () => {
  let redis: RedisServer;
  let publisher: ReturnType<typeof createClient>;
  const open: Connection[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    publisher = createClient({ url: redis.url() });
    await publisher.connect();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((connection) => connection.close()));
  });
  afterAll(async () => {
    publisher.destroy();
    await redis.close();
  });

  /** Listens to `news.*`, and counts the turns of the event loop in which messages came. */
  async function subscribe(
    openClient: OpenClient,
  ): Promise<{ taken: string[]; turns(): number; ups(): number; connection: Connection }> {
    const taken: string[] = [];
    let turns = 0;
    let ups = 0;
    let isSameTurn = false;
    const connection = createConnection({
      label: 'test',
      open: openClient,
      prepare: (client, heard) =>
        client.pSubscribe(['news.*'], (message) => {
          heard();
          taken.push(message.slice(0, 4));
          if (isSameTurn) return;
          isSameTurn = true;
          turns += 1;
          setImmediate(() => {
            isSameTurn = false;
          });
        }),
      onUp() {
        ups += 1;
      },
    });
    open.push(connection);
    await connection.client();
    return { taken, turns: () => turns, ups: () => ups, connection };
  }

  /** Publishes numbers of four digits one by one, a millisecond or more apart. */
  async function publishEach(from: number, to: number): Promise<string[]> {
    const texts = Array.from({ length: to - from }, (_, index) => String(from + index));
    for (const text of texts) {
      await publisher.publish('news.a', text);
      await sleep(1);
    }
    return texts;
  }

  /** The same URL as an option, and the clients of a host. */
  const openers: [string, () => OpenClient][] = [
    ['a URL', () => brokerEndpoint(redis.url(), {}).open],
    ["the host's client of redis 6", () => brokerEndpoint(createClient({ url: redis.url() }), {}).open],
    ["the host's client of redis 5", () => brokerEndpoint(createClient5({ url: redis.url() }), {}).open],
  ];

  it.each(openers)(
    'by %s reads many messages at a time, in their order, also after a reconnect',
    async (_, opener) => {
      const { taken, turns, ups } = await subscribe(opener());
      const first = await publishEach(1000, 1300);
      await publisher.publish('news.b', `9999${'x'.repeat(5_000_000)}`);
      await until(() => taken.length === 301);
      expect(taken).toEqual([...first, '9999']);
      // At least 300 ms with a pause of 100 ms after each read; the large message takes some more.
      expect(turns()).toBeLessThan(100);

      await publisher.sendCommand(['CLIENT', 'KILL', 'TYPE', 'pubsub']);
      await until(() => ups() === 2);
      const before = turns();
      const second = await publishEach(2000, 2300);
      await until(() => taken.length === 601);
      expect(taken.slice(301)).toEqual(second);
      expect(turns() - before).toBeLessThan(100);
    },
  );

  it('reads a message after silence at once, and answers and ends between two reads', async () => {
    const { taken, connection } = await subscribe(brokerEndpoint(redis.url(), {}).open);
    const waits: number[] = [];
    for (let count = 1; count <= 10; count += 1) {
      await sleep(110);
      const begun = performance.now();
      await publisher.publish('news.a', 'text');
      await until(() => taken.length === count);
      waits.push(performance.now() - begun);
    }
    // A busy machine may delay some, but not all of them.
    expect(Math.min(...waits)).toBeLessThan(50);
    await publishEach(1000, 1010);
    expect(await (await connection.client()).ping()).toBeDefined();
    await connection.close();
    expect(connection.state().up).toBe(false);
  });
});
