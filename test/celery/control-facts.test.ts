import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { History, TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Task, Worker } from '../../src/model.ts';
import type { WorkerSource } from '../../src/source.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { decodeEnvelope } from '../../src/sources/celery/brokers/redis/envelope.ts';
import { createRedisMailbox } from '../../src/sources/celery/brokers/redis/mailbox.ts';
import { type Control, createControl } from '../../src/sources/celery/control/control.ts';
import { createEventEnabler } from '../../src/sources/celery/control/event-enabler.ts';
import { createInspection, type Inspection } from '../../src/sources/celery/control/inspection.ts';
import { createPing } from '../../src/sources/celery/control/ping.ts';
import { createRunning } from '../../src/sources/celery/control/running.ts';
import { type CeleryEvent, taskChangeOf } from '../../src/sources/celery/protocol/events.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

const missing = redisMissing ?? celeryMissing;

describe.skipIf(missing !== null)(titleUnless(missing, 'what running workers tell of themselves'), () => {
  let redis: RedisServer;
  let app: CeleryApp;
  let prefork: CeleryWorker;
  let threads: CeleryWorker;
  let control: Control;
  let history: History;
  let inspection: Inspection;
  let client: ReturnType<typeof connect>;
  let events: ReturnType<typeof connect>;
  const starts: TaskChange[] = [];

  function connect() {
    return createClient({ url: redis.url() });
  }

  /** Answers from a history, as the source's own part does. */
  const source: WorkerSource = {
    name: 'celery',
    status: () => ({ ok: true, asOf: new Date() }),
    listWorkers: (asked) => history.reader.listWorkers(asked),
  };

  beforeAll(async () => {
    redis = await startRedis();
    const settings = { broker_url: redis.url(), result_backend: redis.url(2), worker_prefetch_multiplier: 1 };
    app = celeryApp(settings);
    history = createMemoryHistory();
    const known = (): readonly string[] => history.index.checkWorkers().responding;
    const endpoint = brokerEndpoint(undefined, settings);
    control = createControl({
      mailbox: createRedisMailbox(endpoint, settings),
      known,
      mayEnableEvents: true,
    });
    inspection = createInspection(control, history);
    const started = await Promise.all([
      app.plainWorker('-n', 'w1@a', '-P', 'prefork', '-c', '2', '-Q', 'celery,slow'),
      app.plainWorker('-n', 'w2@b', '-P', 'threads', '-c', '3', '-Q', 'slow'),
      app.plainWorker('-n', 'w3@c', '-P', 'solo', '-Q', 'lone'),
    ]);
    [prefork, threads] = started;
    client = connect();
    await client.connect();
    events = client.duplicate();
    await events.connect();
    await events.pSubscribe('/0.celeryev/task.*', (message) => {
      for (const event of [decodeEnvelope(message)].flat()) {
        const change = taskChangeOf(event as CeleryEvent);
        if (change?.type === 'started') starts.push(change);
      }
    });
  });

  afterAll(async () => {
    inspection?.close();
    await control?.close();
    events?.destroy();
    client?.destroy();
    // It would wait for its task.
    await threads?.kill();
    await app?.close();
    await redis?.close();
  }, 30_000);

  async function workers(): Promise<Map<string, Worker>> {
    const listed = await inspection.withInspection(source).listWorkers(context);
    return new Map(listed.map((worker) => [worker.hostname, worker]));
  }

  it('is in the first list that somebody asks for, though nothing was heard of them before', async () => {
    await app.send({ name: 'shop.add', args: [1, 2] });
    await until(() => prefork.output().includes('succeeded'));
    // Once answers came within the half second that the first list waits, else in a later one.
    let listed = await workers();
    await until(async () => {
      listed = await workers();
      return listed.size === 3;
    });
    expect([...listed.keys()]).toEqual(['w1@a', 'w2@b', 'w3@c']);
    const first = listed.get('w1@a');
    expect(first).toMatchObject({
      status: 'online',
      pool: 'prefork',
      poolSize: 2,
      concurrency: 2,
      processed: 1,
      queues: ['celery', 'slow'],
    });
    expect(first?.registeredTasks).toContain('shop.add');
    expect(first?.uptimeSeconds).toBeGreaterThanOrEqual(0);
    expect(prefork.output()).not.toMatch(/Traceback/);
    expect([listed.get('w2@b')?.pool, listed.get('w2@b')?.concurrency]).toEqual(['threads', 3]);
    expect([listed.get('w3@c')?.pool, listed.get('w3@c')?.poolSize]).toEqual(['solo', 1]);
    expect(inspection.knownQueues()).toEqual(['celery', 'lone', 'slow']);
    expect(Object.fromEntries(inspection.queuesOf() ?? [])).toEqual({ celery: 1, slow: 2, lone: 1 });
  });

  it('is not asked for again while it is new', async () => {
    const count = async (): Promise<number> =>
      Number(/cmdstat_sadd:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]);
    // On a busy machine the last answer may be old by now: then it is asked for once more.
    await until(async () => {
      const before = await count();
      await Promise.all([workers(), workers(), workers()]);
      inspection.withInspection(source).status?.();
      return (await count()) === before;
    });
  });

  it('shows what runs and what is reserved, and tells of starts that nobody heard of', async () => {
    const running = createRunning(control, history);
    // They run until the worker is killed, and fill it: it takes none of the next test.
    const slow = { name: 'shop.slow', args: [300], queue: 'celery' };
    const later = { name: 'shop.add', args: [1, 2], queue: 'lone', countdown: 60 };
    await app.send(slow, slow, slow, slow, later);
    let found = await running({ scheduled: true });
    const lists = (): string[] => [...(found?.tasks.values() ?? [])].map(({ list }) => list).sort();
    await until(async () => {
      found = await running({ scheduled: true });
      return lists().join() === 'active,active,reserved,reserved,scheduled';
    });
    expect(found?.complete).toEqual(['scheduled', 'reserved', 'active']);
    expect(await running()).toMatchObject({ complete: ['reserved', 'active'], tasks: { size: 4 } });
    for (const [id, { list, worker }] of found?.tasks ?? []) {
      expect(worker).toBe(list === 'scheduled' ? 'w3@c' : 'w1@a');
      const task = await history.reader.getTask(id, context);
      if (list !== 'active') {
        expect(task).toBeNull();
        continue;
      }
      expect(task).toMatchObject({
        state: 'STARTED',
        name: 'shop.slow',
        worker: 'w1@a',
        queue: 'celery',
        args: '[300]',
      });
      expect(task?.timeline?.map(({ state }) => state)).toEqual(['STARTED']);
    }
    expect(
      (
        await history.reader.listEvents(
          { limit: 9, since: null, states: [], workers: [], tasks: [] },
          context,
        )
      ).events.filter(({ taskId }) => taskId !== null),
    ).toEqual([]);
  });

  it('moves no start that an event has told of, nor tells of it twice', async () => {
    // On a busy machine a worker may be later than a second.
    await until(async () => (await control.enableEvents())?.isComplete === true);
    await app.send({ name: 'shop.slow', args: [300], queue: 'slow' });
    await until(() => starts.length === 1);
    const [start] = starts as [TaskChange];
    const unheard = createMemoryHistory();
    const overtaken = createMemoryHistory();
    overtaken.writer.recordTask(start);
    const times: (Task | null)[] = [];
    for (const told of [unheard, overtaken]) {
      const running = createRunning(control, told);
      await until(async () => (await running())?.tasks.get(start.id)?.list === 'active');
      times.push(await told.reader.getTask(start.id, context));
    }
    const [asked, heard] = times;
    expect(asked?.state).toBe('STARTED');
    expect(heard?.started?.getTime()).toBe(Math.floor(start.time ?? 0));
    expect((await overtaken.reader.getTask(start.id, context))?.timeline).toHaveLength(1);
    // The event comes behind the answer.
    unheard.writer.recordTask(start);
    const late = await unheard.reader.getTask(start.id, context);
    expect(late?.started).toEqual(heard?.started);
    expect(late?.state).toBe('STARTED');
  });

  it('answers no ping from a worker that was killed, which is missing then', async () => {
    const pingWorkers = createPing(control, history);
    await until(async () => (await pingWorkers())?.responding.length === 3);
    await prefork.kill();
    let answered = await pingWorkers();
    await until(async () => {
      answered = await pingWorkers();
      return answered?.responding.length === 2;
    });
    expect(answered).toEqual({
      ok: true,
      error: null,
      responding: ['w2@b', 'w3@c'],
      missing: ['w1@a'],
    });
  });

  it('switches task events on where the host asked for it, also of a worker that comes later', async () => {
    const enabler = createEventEnabler(control);
    const late = await app.plainWorker('-n', 'w4@d', '-P', 'solo', '-Q', 'late');
    enabler.workerOnline('w4@d');
    const before = starts.length;
    await until(() => late.output().includes('Events of group {task} enabled by remote.'));
    await app.send({ name: 'shop.add', args: [1, 2], queue: 'late' });
    await until(() => starts.length > before);
    enabler.close();
  });
});
