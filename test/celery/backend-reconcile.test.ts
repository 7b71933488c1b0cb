import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { context, eventMessage } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { waitingMessage } from './array-deployment.ts';
import { type Monitor, monitorOf, stored, type Writer, writerOf } from './backend-lab.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'tasks with unknown facts'), () => {
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
    monitor = monitorOf(redis.url(), {}, { broker: redis.url() });
    await until(() => monitor.sources.tasks.status?.().ok === true);
    await until(async () => (await monitor.progress()).done);
  });

  afterEach(async () => {
    await monitor.close();
    writer.close();
  });

  /** Publishes an event of each of these tasks. */
  async function hear(type: string, ...ids: string[]): Promise<void> {
    const common = { type: `task-${type}`, hostname: 'w1@alpha', pid: 1, timestamp: Date.now() / 1000 };
    const commands = ids.map((uuid) => [
      'PUBLISH',
      `/0.celeryev/task.${type}`,
      eventMessage({ ...common, uuid }),
    ]);
    await writer.send(commands);
    await until(async () => (await stateOf(ids.at(-1) ?? '')) !== null);
  }
  /** The states of all known tasks. Unlike the question for one task, that for a list looks nothing up. */
  const states = async (): Promise<Map<string, string>> => {
    const { tasks } = await monitor.sources.tasks.listTasks(queryOf({ limit: 5_000 }), context);
    return new Map(tasks.map(({ id, state }) => [id, state]));
  };
  const stateOf = async (id: string) => (await states()).get(id) ?? null;
  /** Loses the connections over which events and results come, so that some may have been missed. */
  const gap = () => writer.send([['CLIENT', 'KILL', 'TYPE', 'pubsub']]);
  const asked = async (): Promise<number> => (await writer.calls()).getrange ?? 0;

  it('get their name from a stored result, where only the end was heard', async () => {
    await hear('succeeded', 'heard');
    await writer.send([stored('heard', { name: 'shop.add' })]);
    await gap();
    await until(async () => (await monitor.task('heard'))?.name === 'shop.add');
  });

  it('are asked for when nothing is heard of them for two seconds', async () => {
    await hear('started', 'ends', 'goes-on');
    await hear('sent', 'waits');
    await writer.send([stored('ends', { result: 7 })]);
    await until(async () => (await stateOf('ends')) === 'SUCCESS');
    expect(await monitor.task('ends')).toMatchObject({ result: '7', worker: 'w1@alpha' });
    expect([await stateOf('goes-on'), await stateOf('waits')]).toEqual(['STARTED', 'PENDING']);
    // What was only read is no item of the feed.
    const feed = { limit: 100, since: null, states: [], workers: [], tasks: [] };
    const { events } = await monitor.sources.events.listEvents(feed, context);
    expect(events.map(({ type }) => type)).not.toContain('task-succeeded');
  });

  it('are not asked for while their messages wait in a queue', async () => {
    await writer.send([['LPUSH', 'celery', waitingMessage('waits')]]);
    await until(async () =>
      (await monitor.sources.queues.listQueues(context)).some(({ waiting }) => waiting === 1),
    );
    await hear('sent', 'waits');
    await hear('received', 'taken');
    await writer.send([stored('waits'), stored('taken')]);
    await until(async () => (await stateOf('taken')) === 'SUCCESS');
    expect(await stateOf('waits')).toBe('PENDING');
    await writer.send([['DEL', 'celery']]);
    await until(async () => (await stateOf('waits')) === 'SUCCESS');
  });

  it('are all asked for after a gap, however many they are', async () => {
    const many = Array.from({ length: 3000 }, (_, number) => `t${number}`);
    await hear('started', ...many);
    await writer.send(many.map((id) => stored(id, { status: 'FAILURE', result: { exc_type: 'E' } })));
    await gap();
    await until(async () => [...(await states()).values()].every((state) => state === 'FAILURE'));
  });

  it('all get their turn behind those that never end', async () => {
    const stuck = Array.from({ length: 1600 }, (_, number) => `stuck-${number}`);
    await hear('started', ...stuck, 'last');
    await writer.send([stored('last')]);
    await until(async () => (await stateOf('last')) === 'SUCCESS');
    // Those that were asked for are not asked for each time.
    expect(await asked()).toBeLessThan(1601 * 6);
  });

  it('go on when a command has revoked them, until they end', async () => {
    const revoked = (message: string) => ({
      status: 'REVOKED',
      result: { exc_type: 'TaskRevokedError', exc_message: [message], exc_module: 'celery.exceptions' },
    });
    await hear('received', 'running');
    await hear('started', 'running');
    await writer.send([stored('running', revoked('revoked'))]);
    const isMarked = async () =>
      (await monitor.task('running'))?.timeline?.some(({ state }) => state === 'REVOKED') === true;
    await until(isMarked);
    expect(await stateOf('running')).toBe('STARTED');
    await writer.send([stored('running', revoked('terminated'))]);
    await gap();
    await until(async () => (await stateOf('running')) === 'REVOKED');
  });

  it('change nothing while nothing about them changes', async () => {
    const progress = (step: number) =>
      stored('running', { status: 'PROGRESS', result: { step }, date_done: null });
    await writer.send([progress(1)]);
    await hear('started', 'running');
    await until(async () => (await stateOf('running')) === 'PROGRESS');
    const revision = () => monitor.sources.tasks.status?.().revision;
    const [before, count] = [revision(), await asked()];
    await until(async () => (await asked()) > count);
    expect(revision()).toBe(before);
    await writer.send([progress(2)]);
    await until(() => revision() !== before);
  });
});
