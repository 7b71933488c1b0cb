import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOwnSubscriber } from '../../src/redis/own-clients.ts';
import { createRespParser, type RespReply } from '../../src/redis/resp-parser.ts';
import { parseRedisUrl } from '../../src/redis/urls.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

describe('replies of Redis', () => {
  const bytes = Buffer.from(
    '+OK\r\n*4\r\n$8\r\npmessage\r\n$3\r\nž*\r\n$3\r\nžx\r\n$0\r\n\r\n:-12\r\n$-1\r\n*-1\r\n*2\r\n*1\r\n:1\r\n$4\r\na\r\nb\r\n',
  );
  const replies = ['OK', ['pmessage', 'ž*', 'žx', ''], -12, null, null, [[1], 'a\r\nb']];

  it.each([1, 2, 3, 7, 1_000])('are the same in pieces of %i bytes', (size) => {
    const taken: RespReply[] = [];
    const parser = createRespParser((reply) => taken.push(reply));
    for (let at = 0; at < bytes.length; at += size) {
      const piece = Buffer.from(bytes.subarray(at, at + size));
      parser.write(piece);
      // The socket reads into the same memory again.
      piece.fill(0);
    }
    expect(taken).toEqual(replies);
  });

  it('that refuse are errors with the text of Redis', () => {
    const taken: RespReply[] = [];
    createRespParser((reply) => taken.push(reply)).write(Buffer.from('-NOPERM no\r\n'));
    expect(taken).toEqual([new Error('NOPERM no')]);
  });

  it('of another protocol end the connection', () => {
    const parser = createRespParser(() => {});
    expect(() => parser.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n'))).toThrow(
      'Redis closed the connection.',
    );
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a subscriber of our own'), () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  it('reads messages in their order, many at a time, and large ones whole', async () => {
    const subscriber = createOwnSubscriber(
      parseRedisUrl(redis.url(), 'broker'),
      new AbortController().signal,
    );
    await subscriber.connect();
    const taken: string[] = [];
    let turns = 0;
    let isSameTurn = false;
    await subscriber.pSubscribe(['news.*'], (message, channel) => {
      taken.push(`${channel} ${message.length} ${message.slice(0, 4)}`);
      if (isSameTurn) return;
      isSameTurn = true;
      turns += 1;
      setImmediate(() => {
        isSameTurn = false;
      });
    });
    const client = createClient({ url: redis.url() });
    await client.connect();
    for (let index = 0; index < 300; index += 1) {
      await client.publish('news.a', String(1000 + index));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await client.publish('news.b', `9999${'x'.repeat(5_000_000)}`);
    await until(() => taken.length === 301);
    expect(taken).toEqual([
      ...Array.from({ length: 300 }, (_, index) => `news.a 4 ${1000 + index}`),
      'news.b 5000004 9999',
    ]);
    // At least 300 ms, and a pause of 50 ms after each read.
    expect(turns).toBeLessThan(100);
    expect(await subscriber.ping()).toEqual(['pong', '']);
    subscriber.destroy();
    await expect(subscriber.ping()).rejects.toThrow('Redis closed the connection.');
    client.destroy();
  });
});
