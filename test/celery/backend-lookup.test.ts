import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { type Monitor, monitorOf, stored, type Writer, writerOf } from './backend-lab.ts';

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
    monitor = monitorOf(redis.url(), {}, { readResults: false });
  });

  afterEach(async () => {
    await monitor.close();
    writer.close();
  });

  const revision = () => monitor.sources.tasks.status?.().revision;
  /** How many keys were asked for. */
  const asked = async (): Promise<number> => (await writer.calls()).getrange ?? 0;

  it('finds a task that the history does not know, and tells the history', async () => {
    await writer.send([stored('a', { name: 'shop.add', parent_id: 'p' })]);
    const revised = revision();
    expect(await monitor.task('a')).toMatchObject({ state: 'SUCCESS', name: 'shop.add' });
    expect(await monitor.count()).toBe(1);
    expect(revision()).not.toBe(revised);
    const before = await asked();
    await monitor.task('a');
    expect(await asked()).toBe(before);
  });

  it('asks once for a task that a hundred ask for, and not again at once when it is nowhere', async () => {
    const reads = Array.from({ length: 100 }, () => monitor.task('nowhere'));
    expect(new Set(await Promise.all(reads))).toEqual(new Set([null]));
    await monitor.task('nowhere');
    expect(await asked()).toBe(1);
    // Yet it is found soon after it has appeared.
    await writer.send([stored('nowhere')]);
    await until(async () => (await monitor.task('nowhere')) !== null);
  });

  it('bears any id', async () => {
    for (const id of ['', 'x'.repeat(513), 'a\r\nb', '\u0000', '__proto__', '*']) {
      expect(await monitor.task(id)).toBeNull();
    }
    await writer.send([stored('order:1234/ä')]);
    expect(await monitor.task('order:1234/ä')).toMatchObject({ state: 'SUCCESS' });
  });

  it('answers with tasks that are older than all that the history keeps, without keeping them', async () => {
    await monitor.close();
    monitor = monitorOf(redis.url(), {}, { readResults: false, retention: { maxTasks: 3 } });
    const now = Date.now();
    const at = (second: number): string => new Date(now - second * 1000).toISOString();
    await writer.send([
      ...[1, 2, 3].map((age) => stored(`new-${age}`, { date_done: at(age) })),
      stored('old', { date_done: at(3600), name: 'shop.old', parent_id: 'older' }),
      stored('older', { date_done: at(3700), name: 'shop.older' }),
    ]);
    for (const age of [1, 2, 3]) expect(await monitor.task(`new-${age}`)).not.toBeNull();
    const revised = revision();
    expect(await monitor.task('old')).toMatchObject({ state: 'SUCCESS', name: 'shop.old' });
    expect(revision()).not.toBe(revised);
    expect(await monitor.count()).toBe(3);
    const tree = await monitor.tree('old');
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
    const tree = await monitor.tree('one');
    expect(tree?.tasks.map(({ id }) => id).sort()).toEqual(['m1', 'm2', 'one', 'root', 'two']);
    expect(await monitor.tree('nobody')).toBeNull();
    // A workflow that never ends is completed a few steps at a time.
    await writer.send(
      Array.from({ length: 50 }, (_, number) => stored(`s${number}`, { parent_id: `s${number + 1}` })),
    );
    expect((await monitor.tree('s0'))?.tasks.length).toBeLessThan(15);
  });

  it('goes round no circle for ever', async () => {
    await writer.send([
      stored('x', { parent_id: 'y' }),
      stored('y', { parent_id: 'x' }),
      stored('z', { parent_id: 'z' }),
    ]);
    expect((await monitor.tree('x'))?.tasks).toHaveLength(2);
    expect((await monitor.tree('z'))?.tasks).toHaveLength(1);
  });

  it('answers from what is there when Redis is away or does not answer', { timeout: 60_000 }, async () => {
    await writer.send([stored('known', { parent_id: 'a' })]);
    expect(await monitor.task('known')).toMatchObject({ parentId: 'a' });
    await writer.send([stored('a', { parent_id: 'b' }), stored('b')]);
    redis.freeze();
    try {
      expect(await monitor.task('a')).toBeNull();
      expect((await monitor.tree('known'))?.tasks).toHaveLength(1);
      // No more than a thousand commands wait; who comes then is answered at once.
      const many = Array.from({ length: 2_000 }, (_, at) => monitor.task(`many-${at}`));
      expect(new Set(await Promise.all(many))).toEqual(new Set([null]));
      // Nobody waits any more.
      const gone = { signal: AbortSignal.abort() };
      expect(await monitor.sources.tasks.getTask('a', gone)).toBeNull();
    } finally {
      redis.thaw();
    }
    await until(async () => (await monitor.task('a')) !== null);
    expect(await asked()).toBeLessThanOrEqual(1_100);
    await until(async () => (await monitor.tree('known'))?.tasks.length === 3);
  });

  it('takes a result that is too long or not readable for what it is', async () => {
    await writer.send([
      stored('vast', { result: 'x'.repeat(3_000_000) }),
      ['SET', 'celery-task-meta-pickle', '\u0080\u0004'],
      ['LPUSH', 'celery-task-meta-list', 'x'],
      stored('revoked', { status: 'REVOKED', result: PROXY }),
    ]);
    expect(await monitor.task('vast')).toMatchObject({
      state: 'SUCCESS',
      result: null,
      truncated: ['result'],
    });
    expect(await monitor.task('pickle')).toBeNull();
    expect(await monitor.task('list')).toBeNull();
    expect(await monitor.task('revoked')).toMatchObject({ state: 'REVOKED' });
  });
});
