import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import { RedisError } from '../../src/redis/problems.ts';
import type { RedisReader } from '../../src/redis/reader.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';

const open: RedisReader[] = [];

/** A reader that is closed after the test. */
function readerOf(broker: unknown): RedisReader {
  const reader = createRedisReader('test', brokerEndpoint(broker, {}));
  open.push(reader);
  return reader;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((reader) => reader.close()));
  vi.doUnmock('redis');
  vi.resetModules();
});

async function problemOf(promise: Promise<unknown>): Promise<RedisError['problem']> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RedisError);
  const { problem, message, stack } = error as RedisError;
  expect(message).toBe(problem.sentence);
  expect(`${stack}`).not.toMatch(/SECRET/);
  return problem;
}

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a reader of a Redis'), () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis?.close();
  });

  async function expectRedis2Replies(reader: RedisReader): Promise<void> {
    const replies = await reader.commands([
      ['FLUSHDB'],
      ['SET', 'text', 'žluť 🐍'],
      ['GET', 'text'],
      ['GET', 'absent'],
      ['HSET', 'hash', 'a', '1'],
      ['HGETALL', 'hash'],
      ['ZADD', 'scores', '1.5', 'one', 'inf', 'two'],
      ['ZRANGE', 'scores', '0', '-1', 'WITHSCORES'],
      ['SADD', 'set', 'only'],
      ['SMEMBERS', 'set'],
      ['LRANGE', 'absent', '0', '9'],
      ['SCAN', '0', 'MATCH', 'sco*', 'COUNT', '1000'],
    ]);
    const scores = ['one', '1.5', 'two', 'inf'];
    const found = ['0', ['scores']];
    expect(replies).toEqual(['OK', 'OK', 'žluť 🐍', null, 1, ['a', '1'], 2, scores, 1, ['only'], [], found]);
  }

  it('gets replies as RESP 2 has them, over a client of its own of node-redis 6', async () => {
    await expectRedis2Replies(readerOf(redis.url(1)));
  });

  it('gets the same over a client of its own of node-redis 5', async () => {
    vi.resetModules();
    vi.doMock('redis', () => ({ createClient: createClient5 }));
    const modules = await import('../../src/redis/connection-reader.ts');
    const endpoints = await import('../../src/sources/celery/brokers/redis/endpoints.ts');
    const reader = modules.createRedisReader('test', endpoints.brokerEndpoint(redis.url(1), {}));
    open.push(reader);
    await expectRedis2Replies(reader);
  });

  it.each([
    ['node-redis 6', createClient],
    ['node-redis 5', createClient5 as unknown as typeof createClient],
  ])("gets the same over a host's client of %s, whatever that one speaks and maps", async (_, create) => {
    const client = create({
      url: redis.url(1),
      RESP: 3,
      keyPrefix: 'host:',
      commandOptions: { typeMapping: { 36: Buffer } },
      clientSideCache: { ttl: 0, maxEntries: 10 },
    });
    client.on('error', () => {});
    await expectRedis2Replies(readerOf(client));
    expect(client.isOpen).toBe(false);
  });

  it('connects at its first command, once, and answers where it is', async () => {
    const reader = readerOf(redis.url(1));
    const nothing = { up: false, asOf: null, since: null, reconnects: 0, problem: null };
    expect(reader.state()).toEqual(nothing);
    const replies = await Promise.all([1, 2, 3].map(() => reader.command(['CLIENT', 'ID'])));
    expect(new Set(replies).size).toBe(1);
    expect(reader.state()).toMatchObject({ up: true, problem: null });
    expect(await reader.check(new AbortController().signal)).toBeNull();
  });

  it('rejects while Redis is away: in time before the first attempt has ended, then at once', async () => {
    const server = await startRedis();
    await server.kill();
    const reader = readerOf(server.url());
    expect(await problemOf(reader.command(['PING']))).toMatchObject({ code: 'ECONNREFUSED' });
    const start = performance.now();
    for (let count = 0; count < 20; count += 1) await problemOf(reader.command(['PING']));
    expect(performance.now() - start).toBeLessThan(10_000);
    await server.start();
    await until(() => reader.state().up);
    expect(await reader.command(['PING'])).toBe('PONG');
    expect(await reader.check(new AbortController().signal)).toBeNull();
    await server.close();
  });

  it('rejects in time though a command is written, takes no late reply for that of another, and goes on', async () => {
    const reader = readerOf(redis.url(1));
    await reader.commands([
      ['SET', 'a', 'of a'],
      ['SET', 'b', 'of b'],
    ]);
    redis.freeze();
    const start = performance.now();
    const late = reader.command(['GET', 'a'], { timeoutMs: 100 });
    expect(await problemOf(late)).toEqual({ code: 'TimeoutError', sentence: 'Redis does not answer.' });
    const controller = new AbortController();
    const left = reader.command(['GET', 'a'], { signal: controller.signal });
    controller.abort();
    expect((await problemOf(left)).code).toBe('TimeoutError');
    expect((await problemOf(reader.command(['GET', 'a'], { signal: controller.signal }))).code).toBe(
      'TimeoutError',
    );
    expect(performance.now() - start).toBeLessThan(20_000);
    const next = reader.command(['GET', 'b']);
    redis.thaw();
    expect(await next).toBe('of b');
  });

  it('does not send late what nobody waits for any more', async () => {
    const server = await startRedis();
    server.freeze();
    const reader = readerOf(server.url());
    expect((await problemOf(reader.command(['SET', 'late', '1'], { timeoutMs: 50 }))).code).toBe(
      'TimeoutError',
    );
    server.thaw();
    expect(await reader.commands([['PING'], ['EXISTS', 'late']])).toEqual(['PONG', 0]);
    await server.close();
  });

  it('lets 1,000 commands wait and no more', async () => {
    const reader = readerOf(redis.url(1));
    const many = (count: number): string[][] => Array.from({ length: count }, () => ['PING']);
    const first = reader.commands(many(1000));
    expect((await problemOf(reader.command(['PING']))).code).toBe('TOOMANY');
    expect(await first).toHaveLength(1000);
    expect(await reader.command(['PING'])).toBe('PONG');
    expect((await problemOf(reader.commands(many(1001)))).code).toBe('TOOMANY');
  });

  it('takes a refused command for what it is, and keeps its connection', async () => {
    const server = await startRedis();
    const reader = readerOf(server.url());
    const acl = 'ACL SETUSER default resetkeys ~open:* resetchannels +@all -lrange -memory|usage';
    await reader.commands([['SET', 'open:text', '1'], ['SET', 'text', '1'], acl.split(' ')]);
    const id = await reader.command(['CLIENT', 'ID']);
    const refused = (...args: string[]) => problemOf(reader.command(args));
    expect(await refused('HGETALL', 'open:text')).toMatchObject({ code: 'WRONGTYPE' });
    expect(await refused('NOSUCH', 'SECRET')).toMatchObject({ code: 'UNKNOWNCOMMAND' });
    const noperm = (kind: string, command: string | null) => ({ code: 'NOPERM', refused: { kind, command } });
    expect(await refused('LRANGE', 'open:list', '0', '1')).toMatchObject(noperm('command', 'lrange'));
    expect(await refused('MEMORY', 'USAGE', 'open:text')).toMatchObject(noperm('command', 'memory|usage'));
    expect(await refused('GET', 'text')).toMatchObject(noperm('key', null));
    expect(await refused('PUBLISH', 'SECRET', 'x')).toMatchObject(noperm('channel', null));
    expect(await refused('GET')).toMatchObject({ code: 'UNKNOWN' });
    await reader.commands(['CONFIG SET maxmemory 1'.split(' ')]);
    expect(await refused('SET', 'open:more', 'x')).toMatchObject({ code: 'OOM' });
    await reader.commands(['CONFIG SET maxmemory 0'.split(' '), 'REPLICAOF 127.0.0.1 1'.split(' ')]);
    expect(await refused('SET', 'open:more', 'x')).toMatchObject({ code: 'READONLY' });
    expect(await reader.command(['CLIENT', 'ID'])).toBe(id);
    expect(reader.state()).toMatchObject({ up: true, reconnects: 0 });
    await server.close();
  });

  it('rejects everything once it is closed, and leaves no connection', async () => {
    const reader = readerOf(redis.url(1));
    await reader.command(['PING']);
    const last = reader.command(['BLPOP', 'absent', '0']);
    await Promise.all([reader.close(), reader.close(), problemOf(last)]);
    expect((await problemOf(reader.command(['PING']))).code).toBe('CLOSED');
    expect(await reader.check(new AbortController().signal)).toMatchObject({ code: 'CLOSED' });
    const client = createClient({ url: redis.url() });
    await client.connect();
    await until(async () => (await client.clientList()).length === 1);
    await client.close();
    const never = readerOf(redis.url(1));
    await never.close();
    expect((await problemOf(never.command(['PING']))).code).toBe('CLOSED');
  });
});

it.each([
  ['-BUSY Redis is busy running a script. SECRET', 'BUSY'],
  ['-LOADING Redis is loading the dataset in memory SECRET', 'LOADING'],
  ['-MISCONF Redis is configured to save SECRET', 'MISCONF'],
  ["-NOPERM User SECRET has no permissions to run the 'get' command", 'NOPERM'],
  ["-NOPERM this user has no permissions to run the 'SECRET; DROP' command", 'NOPERM'],
  ['-SECRET', 'UNKNOWN'],
])('a reader that is answered %s tells in words of its own', async (reply, code) => {
  const server = await scriptedRedis((command) => (command === 'GET' ? `${reply}\r\n` : '+PONG\r\n'));
  const reader = readerOf(server.url);
  const problem = await problemOf(reader.command(['GET', 'key']));
  expect(problem.code).toBe(code);
  expect(JSON.stringify(problem)).not.toContain('SECRET');
  expect(await reader.command(['PING'])).toBe('PONG');
  await reader.close();
  await server.close();
});
