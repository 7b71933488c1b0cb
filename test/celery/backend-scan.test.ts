import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CelerySettings, CelerySourcesOptions } from '../../src/celery.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf as query } from '../helpers/task-query.ts';
import { type Monitor, meta, monitorOf, stored, type Writer, writerOf } from './backend-lab.ts';

const DAY = 86_400_000;

/** Commands that a monitor may send. */
const READS = [
  ...['hello', 'ping', 'select', 'info', 'scan', 'dbsize', 'getrange'],
  ...['subscribe', 'psubscribe'],
];

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'reading in what lies in a backend'), () => {
  let redis: RedisServer;
  let writer: Writer;
  let monitor: Monitor | null;

  beforeAll(async () => {
    // Ten times what is aimed at: a machine that is busy with other tests interrupts Redis for that long.
    redis = await startRedis('--slowlog-log-slower-than', '100000');
    writer = await writerOf(redis);
  });

  beforeEach(async () => {
    await writer.send([['FLUSHALL'], ['SLOWLOG', 'RESET'], ['CONFIG', 'RESETSTAT']]);
    monitor = null;
  });

  afterEach(() => monitor?.close());

  afterAll(async () => {
    writer?.close();
    await redis?.close();
  });

  function start(settings: CelerySettings = {}, retention: CelerySourcesOptions['retention'] = {}): Monitor {
    monitor = monitorOf(redis.url(), settings, { retention });
    return monitor;
  }

  /** Reads everything in. */
  async function readIn(...given: Parameters<typeof start>): Promise<Monitor> {
    const started = start(...given);
    await until(async () => (await started.progress()).done, 200_000);
    return started;
  }

  const ids = async ({ sources }: Monitor): Promise<string[]> => {
    const { tasks } = await sources.tasks.listTasks(query({ limit: 1000 }), context);
    return tasks.map(({ id }) => id).sort();
  };

  /** Repeatable numbers from 0 to 1. */
  function randomOf(seed: number): () => number {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return state / 0x7fffffff;
    };
  }

  it('finds each of 3,000 results of any size among other keys, with short commands that only read', async () => {
    const random = randomOf(7);
    const date = (): string => new Date(Date.now() - random() * DAY).toISOString().replace('Z', '000');
    const commands: string[][] = [];
    for (let at = 0; at < 3_000; at += 1) {
      const length = at % 1000 === 1 ? 400_000 : Math.floor(3000 * random() ** 6);
      const failed = at % 10 === 0;
      commands.push(
        stored(`task-${at}`, {
          status: failed ? 'FAILURE' : 'SUCCESS',
          result: failed ? { exc_type: 'E', exc_message: [at] } : 'x'.repeat(length),
          date_done: date(),
        }),
      );
      if (at % 4 === 0) commands.push(['SET', `cache:${at}`, 'x']);
    }
    // Longer than what is read at all.
    commands.push(stored('vast', { result: 'x'.repeat(20_000_000), date_done: date() }));
    commands.push(['RPUSH', 'celery', '{}'], ['HSET', 'celery-task-meta-hash', 'a', 'b']);
    await writer.send(commands);
    await writer.send([
      ['SLOWLOG', 'RESET'],
      ['CONFIG', 'RESETSTAT'],
    ]);
    const { task, count, progress } = await readIn();
    const read = await progress();
    expect(read).toMatchObject({ done: true, keys: 3_753, kept: 3_001, unreadable: 0, error: null });
    expect(read.read).toBeGreaterThanOrEqual(3_002);
    expect(await count()).toBe(3_001);
    expect(await task('task-300')).toMatchObject({
      state: 'FAILURE',
      exception: 'E(300)',
    });
    expect((await task('task-2001'))?.result).toHaveLength(65_536);
    const vast = await task('vast');
    expect([vast?.state, vast?.result === null, vast?.truncated]).toEqual(['SUCCESS', true, ['result']]);
    // A machine that others share may stop Redis in the middle of one or two of so many commands.
    const [slow] = (await writer.send([['SLOWLOG', 'GET', '10']])) as unknown[][];
    expect(slow?.length).toBeLessThan(3);
    // Less than the one that is too long.
    expect(await writer.bytes()).toBeLessThan(15_000_000);
    const sent = Object.keys(await writer.calls()).filter((name) => !/^(slowlog|config)/.test(name));
    expect(sent.filter((name) => !READS.includes(name))).toEqual([]);
  });

  it('keeps the newest within the retention, whatever lies before them', async () => {
    const now = Date.now();
    const at = (second: number): string => new Date(now - second * 1000).toISOString();
    await writer.send(
      Array.from({ length: 3000 }, (_, number) => stored(`t${number}`, { date_done: at(number) })),
    );
    const { sources, progress } = await readIn({}, { maxTasks: 100 });
    expect(await ids(monitor as Monitor)).toEqual(
      Array.from({ length: 100 }, (_, number) => `t${number}`).sort(),
    );
    expect((await sources.history.getHistoryStats(context)).evicted).toBeLessThan(1500);
    expect((await progress()).read).toBeGreaterThanOrEqual(3000);
  });

  it('does not read a date in what a task itself returns for the date of the task', async () => {
    const old = { date_done: '2001-01-01T00:00:00' };
    await writer.send([
      stored('nested', { result: old }),
      stored('started', { status: 'PROGRESS', result: { '"date_done": "2001': old }, date_done: null }),
      stored('ancient', old),
    ]);
    await readIn();
    expect(await ids(monitor as Monitor)).toEqual(['nested', 'started']);
  });

  it('reads under the prefix of the backend alone', async () => {
    await writer.send([
      stored('ours', {}, 'acme[1]_'),
      stored('other', {}, 'acme1_'),
      stored('plain'),
      ['SET', 'acme[1]_celery-taskset-meta-g', '{"result": [["g", null], [[["ours", null], null]]]}'],
    ]);
    await readIn({ result_backend_transport_options: { global_keyprefix: 'acme[1]' } });
    expect(await ids(monitor as Monitor)).toEqual(['ours']);
  });

  it('counts values of other serializers and goes on', async () => {
    await writer.send([
      ['SET', 'celery-task-meta-pickle', '\u0080\u0004\u0095}'],
      ['SET', 'celery-task-meta-yaml', 'status: SUCCESS\nresult: 4\n'],
      ['SET', 'celery-task-meta-zlib', 'x\u009cabc'],
      ['SET', 'celery-task-meta-broken', meta('broken').slice(0, -5)],
      ['SET', 'celery-task-meta-empty', ''],
      ['SET', 'celery-taskset-meta-pickle', '\u0080\u0004\u0095}'],
      ['ZADD', 'celery-taskset-meta-g.j', '1', 'x'],
      ['SET', 'celery-taskset-meta-g.s', '3'],
      ['LPUSH', 'celery-taskset-meta-list', 'x'],
      stored('good'),
    ]);
    await readIn();
    expect(await ids(monitor as Monitor)).toEqual(['good']);
    expect(await monitor?.progress()).toMatchObject({ unreadable: 5, kept: 1, error: null });
  });

  it('does not know since when tasks are what they are where their results have no date', async () => {
    const undated = { date_done: null, result: { pid: 1, hostname: 'w1@alpha' } };
    await writer.send([
      stored('running', { status: 'STARTED', ...undated }),
      stored('retrying', { status: 'RETRY', ...undated }),
    ]);
    const { task } = await readIn();
    expect(await task('running')).toMatchObject({ state: 'STARTED', worker: 'w1@alpha', started: null });
    expect(await task('retrying')).toMatchObject({
      state: 'RETRY',
      timeline: [{ state: 'RETRY', timestamp: null }],
    });
  });

  it('does not mind keys that vanish or become another type meanwhile', async () => {
    await writer.send(Array.from({ length: 4000 }, (_, number) => stored(`t${number}`)));
    const { progress } = start();
    for (let number = 0; number < 4000; number += 40) {
      const keys = Array.from({ length: 20 }, (_, at) => `celery-task-meta-t${number + 2 * at}`);
      const lists = keys.filter((_, at) => at % 2 === 0).map((key) => ['LPUSH', key, 'x']);
      await writer.send([['DEL', ...keys], ...lists]);
    }
    await until(async () => (await progress()).done);
    expect(await progress()).toMatchObject({ unreadable: 0, error: null });
    expect((await progress()).kept).toBeGreaterThanOrEqual(2000);
  });

  it('goes on when Redis comes back, and ends with the reason when it may not look', async () => {
    await writer.send(Array.from({ length: 5000 }, (_, number) => stored(`t${number}`)));
    const { progress, count } = start();
    await until(async () => (await progress()).read > 0);
    redis.freeze();
    await until(async () => (await progress()).error !== null);
    redis.thaw();
    await until(async () => (await progress()).done);
    expect(await progress()).toMatchObject({ error: null });
    expect(await count()).toBe(5000);

    const allowed = ['+ping', '+getrange', '+subscribe', '+psubscribe'];
    await writer.send([['ACL', 'SETUSER', 'blind', 'on', '>pw', '~*', 'allchannels', '-@all', ...allowed]]);
    const blind = monitorOf(redis.url().replace('//', '//blind:pw@'));
    try {
      await until(async () => (await blind.progress()).done);
      expect(await blind.progress()).toMatchObject({ error: expect.any(String), keys: null, read: 0 });
      // What is known by its id is found all the same.
      expect(await blind.task('t7')).toMatchObject({ state: 'SUCCESS' });
    } finally {
      await blind.close();
    }
  });

  it('after a gap reads again what is not known to have succeeded', async () => {
    await writer.send([stored('a'), stored('b', { status: 'FAILURE' })]);
    const { progress, task } = await readIn();
    expect(await progress()).toMatchObject({ read: 2, kept: 2 });
    await writer.send([stored('b'), stored('c'), ['CLIENT', 'KILL', 'TYPE', 'pubsub']]);
    await until(async () => (await task('b'))?.state === 'SUCCESS' && (await progress()).kept === 2);
    expect(await ids(monitor as Monitor)).toEqual(['a', 'b', 'c']);
    await until(async () => (await progress()).done);
    expect(await progress()).toMatchObject({ read: 3, kept: 2 });
  });

  it('ends when it is closed, wherever it is', async () => {
    await writer.send(Array.from({ length: 5000 }, (_, number) => stored(`t${number}`)));
    const { progress } = start();
    await until(async () => (await progress()).kept > 0);
    await monitor?.close();
    await until(async () => {
      const [clients] = await writer.send([['CLIENT', 'LIST']]);
      return String(clients).trim().split('\n').length === 1;
    });
  });
});
