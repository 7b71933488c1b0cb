import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { type Monitor, monitorOf, stored, type Writer, writerOf } from './backend-redis.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'tasks with unknown facts'), () => {
  let redis: RedisServer;
  let writer: Writer;
  let monitor: Monitor;
  const queued = new Set<string>();

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    await redis?.close();
  });

  beforeEach(async () => {
    writer = await writerOf(redis);
    await writer.send([['FLUSHALL'], ['CONFIG', 'RESETSTAT']]);
    monitor = monitorOf(redis.url(), {}, {}, (id) => queued.has(id));
    monitor.backend.start();
    await until(() => monitor.backend.progress().done);
  });

  afterEach(async () => {
    await monitor.close();
    writer.close();
  });

  function hear(id: string, type: TaskChange['type']): void {
    monitor.history.writer.recordTask({ id, type, time: Date.now(), origin: 'event', worker: 'w1@alpha' });
  }
  const stateOf = (id: string) => monitor.history.index.stateOf(id);

  it('get their name from a stored result, where only the end was heard', async () => {
    hear('heard', 'succeeded');
    await writer.send([stored('heard', { name: 'shop.add' })]);
    monitor.backend.onGap();
    await until(async () => (await monitor.history.reader.getTask('heard', context))?.name === 'shop.add');
  });

  it('are asked for when nothing is heard of them for two seconds', async () => {
    hear('ends', 'started');
    hear('goes-on', 'started');
    hear('waits', 'sent');
    await writer.send([stored('ends', { result: 7 })]);
    expect(stateOf('ends')).toBe('STARTED');
    await until(() => stateOf('ends') === 'SUCCESS');
    expect(await monitor.history.reader.getTask('ends', context)).toMatchObject({
      result: '7',
      worker: 'w1@alpha',
    });
    expect([stateOf('goes-on'), stateOf('waits')]).toEqual(['STARTED', 'PENDING']);
    // What was only read is no item of the feed.
    const feed = { limit: 100, since: null, states: [], workers: [], tasks: [] };
    const { events } = await monitor.history.reader.listEvents(feed, context);
    expect(events.map(({ type }) => type)).not.toContain('task-succeeded');
  });

  it('are not asked for while their messages wait in a queue', async () => {
    for (const id of ['waits', 'taken']) queued.add(id);
    hear('waits', 'sent');
    hear('taken', 'received');
    await writer.send([stored('waits'), stored('taken')]);
    await until(() => stateOf('taken') === 'SUCCESS');
    expect(stateOf('waits')).toBe('PENDING');
    queued.clear();
    await until(() => stateOf('waits') === 'SUCCESS');
  });

  it('are all asked for at once after a gap, however many they are', async () => {
    const many = Array.from({ length: 3000 }, (_, number) => `t${number}`);
    for (const id of many) hear(id, 'started');
    await writer.send(many.map((id) => stored(id, { status: 'FAILURE', result: { exc_type: 'E' } })));
    monitor.backend.onGap();
    await until(() => many.every((id) => stateOf(id) === 'FAILURE'));
  });

  it('all get their turn behind those that never end', { timeout: 60_000 }, async () => {
    for (let number = 0; number < 1600; number += 1) hear(`stuck-${number}`, 'started');
    hear('last', 'started');
    await writer.send([stored('last')]);
    await until(() => stateOf('last') === 'SUCCESS', 40_000);
    // Those that were asked for are not asked for each time.
    expect((await writer.calls()).strlen).toBeLessThan(1601 * 6);
  });

  it('go on when a command has revoked them, until they end', async () => {
    const revoked = {
      exc_type: 'TaskRevokedError',
      exc_message: ['revoked'],
      exc_module: 'celery.exceptions',
    };
    hear('running', 'received');
    hear('running', 'started');
    await writer.send([stored('running', { status: 'REVOKED', result: revoked })]);
    monitor.backend.onGap();
    await until(async () => {
      const task = await monitor.history.reader.getTask('running', context);
      return task?.timeline?.some(({ state }) => state === 'REVOKED') === true;
    });
    expect(stateOf('running')).toBe('STARTED');
    const terminated = { ...revoked, exc_message: ['terminated'] };
    await writer.send([stored('running', { status: 'REVOKED', result: terminated })]);
    monitor.backend.onGap();
    await until(() => stateOf('running') === 'REVOKED');
  });

  it('change nothing while nothing about them changes', { timeout: 60_000 }, async () => {
    await writer.send([stored('running', { status: 'PROGRESS', result: { step: 1 }, date_done: null })]);
    hear('running', 'started');
    monitor.backend.onGap();
    const asked = async (): Promise<number> => (await writer.calls()).strlen ?? 0;
    // By the reading that follows a gap, with all open tasks, and again after a while.
    await until(async () => (await asked()) >= 3);
    expect(stateOf('running')).toBe('PROGRESS');
    const revision = monitor.history.reader.freshness('tasks').revision;
    const heardAt = (): number | undefined => monitor.history.index.listOpen(1)[0]?.heardAt;
    const before = heardAt();
    await until(async () => (await asked()) >= 4);
    // Nor does the same answer count as a word of the task: it is asked for ever more rarely.
    expect(heardAt()).toBe(before);
    expect(monitor.history.reader.freshness('tasks').revision).toBe(revision);
    await writer.send([stored('running', { status: 'PROGRESS', result: { step: 2 }, date_done: null })]);
    await until(() => monitor.history.reader.freshness('tasks').revision !== revision);
  });
});
