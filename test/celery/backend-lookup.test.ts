import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { type Monitor, monitorOf, stored, type Writer, writerOf } from './backend-redis.ts';

const PROXY = { exc_type: 'TaskRevokedError', exc_message: ['revoked'], exc_module: 'celery.exceptions' };

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'looking up results'), () => {
  let redis: RedisServer;
  let writer: Writer;
  let monitor: Monitor;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis?.close();
  });

  beforeEach(async () => {
    writer = await writerOf(redis);
    await writer.send([['FLUSHALL'], ['CONFIG', 'RESETSTAT']]);
    monitor = monitorOf(redis.url());
  });

  afterEach(async () => {
    await monitor.close();
    writer.close();
  });

  const lookup = (...ids: string[]): Promise<number> => monitor.backend.lookup(ids, context.signal);
  /** How many keys were asked for. */
  const asked = async (): Promise<number> => (await writer.calls()).strlen ?? 0;

  it('finds a task that the history does not know, and tells the history', async () => {
    await writer.send([stored('a', { name: 'shop.add', parent_id: 'p' })]);
    const { revision } = monitor.tasks.status?.() ?? {};
    expect(await monitor.tasks.getTask('a', context)).toMatchObject({ state: 'SUCCESS', name: 'shop.add' });
    expect(monitor.history.index.stateOf('a')).toBe('SUCCESS');
    expect(monitor.tasks.status?.().revision).not.toBe(revision);
    const before = await asked();
    await monitor.tasks.getTask('a', context);
    expect(await asked()).toBe(before);
  });

  it('asks once for a task that a hundred ask for, and not again at once when it is nowhere', async () => {
    const reads = Array.from({ length: 100 }, () => monitor.tasks.getTask('nowhere', context));
    expect(new Set(await Promise.all(reads))).toEqual(new Set([null]));
    await monitor.tasks.getTask('nowhere', context);
    expect(await asked()).toBe(1);
    // Yet it is found soon after it has appeared.
    await writer.send([stored('nowhere')]);
    await until(async () => (await monitor.tasks.getTask('nowhere', context)) !== null, 5000);
  });

  it('counts what it finds of many ids, and bears any id and any number of them', {
    timeout: 60_000,
  }, async () => {
    await writer.send(Array.from({ length: 1500 }, (_, number) => stored(`t${number}`)));
    const ids = Array.from({ length: 2000 }, (_, number) => `t${number}`);
    expect(await lookup(...ids, ...ids)).toBe(1500);
    expect(await lookup('', 'x'.repeat(513), 'a\r\nb', '\u0000', '__proto__', '*')).toBe(0);
    for (let round = 0; round < 20; round += 1) {
      await lookup(...Array.from({ length: 10_000 }, (_, number) => `none-${round}-${number}`));
    }
    // A part of them was not asked for at all.
    expect(await asked()).toBeLessThan(2000 + 10 + 20 * 5000);
    expect(await lookup('t1')).toBe(1);
  });

  it('answers with tasks that are older than all that the history keeps, without keeping them', async () => {
    await monitor.close();
    monitor = monitorOf(redis.url(), {}, { maxTasks: 3 });
    const now = Date.now();
    const at = (second: number): string => new Date(now - second * 1000).toISOString();
    await writer.send([
      ...[1, 2, 3].map((age) => stored(`new-${age}`, { date_done: at(age) })),
      stored('old', { date_done: at(3600), name: 'shop.old', parent_id: 'older' }),
      stored('older', { date_done: at(3700), name: 'shop.older' }),
    ]);
    expect(await lookup('new-1', 'new-2', 'new-3')).toBe(3);
    const { revision } = monitor.tasks.status?.() ?? {};
    expect(await monitor.tasks.getTask('old', context)).toMatchObject({ state: 'SUCCESS', name: 'shop.old' });
    expect(monitor.tasks.status?.().revision).not.toBe(revision);
    expect(monitor.history.index.stateOf('old')).toBeNull();
    const tree = await monitor.tasks.getTaskTree('old', context);
    expect(tree?.tasks.map(({ id }) => id).sort()).toEqual(['old', 'older']);
  });

  it('completes a workflow of which one task is known, upwards and downwards', async () => {
    const child = (id: string) => [[id, null], null];
    await writer.send([
      stored('root', { children: [child('one')] }),
      stored('one', { parent_id: 'root', children: [child('two')] }),
      stored('two', {
        parent_id: 'one',
        children: [
          [
            ['g', null],
            [child('m1'), child('m2')],
          ],
        ],
      }),
      stored('m1', { parent_id: 'two', group_id: 'g' }),
      stored('m2', { parent_id: 'two', group_id: 'g', status: 'FAILURE' }),
      stored('stranger'),
    ]);
    const tree = await monitor.tasks.getTaskTree('one', context);
    expect(tree?.tasks.map(({ id }) => id).sort()).toEqual(['m1', 'm2', 'one', 'root', 'two']);
    expect(await monitor.tasks.getTaskTree('nobody', context)).toBeNull();
    // A workflow that never ends is completed a few steps at a time.
    await writer.send(
      Array.from({ length: 50 }, (_, number) => stored(`s${number}`, { parent_id: `s${number + 1}` })),
    );
    expect((await monitor.tasks.getTaskTree('s0', context))?.tasks.length).toBeLessThan(15);
  });

  it('goes round no circle for ever', async () => {
    await writer.send([
      stored('x', { parent_id: 'y' }),
      stored('y', { parent_id: 'x' }),
      stored('z', { parent_id: 'z' }),
    ]);
    expect((await monitor.tasks.getTaskTree('x', context))?.tasks).toHaveLength(2);
    expect((await monitor.tasks.getTaskTree('z', context))?.tasks).toHaveLength(1);
  });

  it('answers from what is there when Redis is away or does not answer', { timeout: 60_000 }, async () => {
    await writer.send([stored('a', { parent_id: 'b' }), stored('b')]);
    monitor.history.writer.recordTask({
      id: 'known',
      type: 'received',
      time: Date.now(),
      origin: 'event',
      parentId: 'a',
    });
    redis.freeze();
    try {
      const begun = performance.now();
      expect(await monitor.tasks.getTask('a', context)).toBeNull();
      expect((await monitor.tasks.getTaskTree('known', context))?.tasks).toHaveLength(1);
      expect(performance.now() - begun).toBeLessThan(30_000);
      // Nobody waits any more.
      const gone = { signal: AbortSignal.abort() };
      expect(await monitor.tasks.getTask('a', gone)).toBeNull();
    } finally {
      redis.thaw();
    }
    await until(async () => (await monitor.tasks.getTask('a', context)) !== null);
    await until(async () => (await monitor.tasks.getTaskTree('known', context))?.tasks.length === 3);
  });

  it('takes a result that is too long or not readable for what it is', async () => {
    await writer.send([
      stored('vast', { result: 'x'.repeat(3_000_000) }),
      ['SET', 'celery-task-meta-pickle', '\u0080\u0004'],
      ['LPUSH', 'celery-task-meta-list', 'x'],
      stored('revoked', { status: 'REVOKED', result: PROXY }),
    ]);
    expect(await monitor.tasks.getTask('vast', context)).toMatchObject({
      state: 'SUCCESS',
      result: null,
      truncated: ['result'],
    });
    expect(await monitor.tasks.getTask('pickle', context)).toBeNull();
    expect(await monitor.tasks.getTask('list', context)).toBeNull();
    expect(await monitor.tasks.getTask('revoked', context)).toMatchObject({ state: 'REVOKED' });
  });
});
