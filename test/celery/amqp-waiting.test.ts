import { afterEach, describe, expect, it } from 'vitest';
import { type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { type AmqpPublisher, amqpPublisher } from '../helpers/amqp-events.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { openMeter } from '../helpers/meters.ts';
import { rabbitMissing } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { useRabbitLab } from './amqp-lab.ts';

const context = { signal: new AbortController().signal, ping: true };

/** What a client reports when it sends a task. */
function sentEvent(uuid: string, more: object = {}): object {
  return {
    type: 'task-sent',
    hostname: 'gen9@vm',
    pid: 9,
    timestamp: Date.now() / 1000,
    uuid,
    name: 'shop.pay',
    args: '(1,)',
    kwargs: '{}',
    root_id: uuid,
    parent_id: null,
    retries: 0,
    eta: null,
    expires: null,
    queue: 'mail',
    exchange: '',
    routing_key: 'mail',
    ...more,
  };
}

/** What a worker reports when it takes one. */
function receivedEvent(uuid: string, more: object = {}): object {
  const {
    queue: _queue,
    exchange: _exchange,
    routing_key: _key,
    ...event
  } = sentEvent(uuid) as Record<string, unknown>;
  return { ...event, type: 'task-received', hostname: 'w1@x', ...more };
}

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'tasks that wait in RabbitMQ'), () => {
  const { worker, fill, user: createUser, rabbit, virtualHost } = useRabbitLab();
  let opened: ReturnType<typeof celerySources> | null = null;
  let publisher: AmqpPublisher | null = null;

  afterEach(async () => {
    await Promise.all([opened?.close(), publisher?.close()]);
    opened = null;
    publisher = null;
  });

  async function open(more: Partial<CelerySourcesOptions> = {}) {
    publisher = await amqpPublisher(rabbit().url(virtualHost()));
    const sources = celerySources({ broker: rabbit().url(virtualHost()), ...more });
    opened = sources;
    await until(() => sources.tasks.status?.().ok === true);
    const { publish } = publisher;
    return {
      sources,
      publish,
      list: () => sources.tasks.listTasks(queryOf({ limit: 100 }), context),
      queue: async (name: string) =>
        (await sources.queues.listQueues(context))?.find((queue) => queue.name === name) ?? null,
    };
  }

  it('are those that clients report, in queues that they name', async () => {
    await fill('mail', 3);
    const { sources, publish, list, queue } = await open({ control: false });
    for (const id of ['a', 'b'])
      publish(sentEvent(id, { timestamp: Date.now() / 1000 - (id === 'a' ? 1 : 2) }), 'task.sent');
    await until(async () => (await queue('mail'))?.waiting === 3);
    const { tasks, total } = await list();
    expect(tasks.map(({ id, state, queue }) => ({ id, state, queue }))).toEqual([
      { id: 'a', state: 'PENDING', queue: 'mail' },
      { id: 'b', state: 'PENDING', queue: 'mail' },
    ]);
    expect(total).toBe(2);
    expect(await queue('mail')).toMatchObject({ reserved: null, consumers: 0, oldestDueAt: null });
    const activity = await sources.experimental.getActivity?.(context);
    expect(activity?.open.waiting).toEqual([
      expect.objectContaining({ queue: 'mail', count: 2, states: ['PENDING'], since: expect.any(Number) }),
    ]);
    expect((await componentOf(sources, 'collector')).config.hints).toEqual([]);
  });

  it('are counted for metrics by their events, and their queue with its consumers', async () => {
    await fill('mail', 3);
    const { sources, publish, queue } = await open({ control: false });
    const meter = openMeter(sources, { hostname: false, mostSeries: 1_000 });
    publish(sentEvent('a'), 'task.sent');
    await until(async () => (await queue('mail'))?.waiting === 3);
    const read = async () =>
      (await meter.collect(context)).flatMap(({ name, samples }) =>
        [...samples].map((sample) => [name, sample.labels, 'value' in sample ? sample.value : sample.count]),
      );
    const labels = { queue_name: 'mail' };
    await until(async () => (await read()).length > 8);
    expect(await read()).toEqual(
      expect.arrayContaining([
        ['celery_task_sent_total', { name: 'shop.pay', ...labels }, 1],
        ['celery_task_received_total', { name: 'shop.pay', ...labels }, 0],
        ['celery_queue_length', labels, 3],
        ['celery_active_consumer_count', labels, 0],
      ]),
    );
    meter.close();
  });

  it('of native delayed delivery are PENDING in their queue until their eta, when a worker receives them', async () => {
    await fill('qq', 0);
    const { sources, publish, queue } = await open({ control: false });
    const due = Date.now() + 1_500;
    const eta = new Date(due).toISOString();
    const delayed = {
      queue: null,
      exchange: 'celery_delayed_27',
      routing_key: `${'0.'.repeat(26)}1.0.qq`,
      eta,
    };
    publish(sentEvent('later', delayed), 'task.sent');
    await until(async () => (await queue('qq')) !== null);
    const task = () => sources.tasks.getTask('later', context);
    expect(await task()).toMatchObject({ state: 'PENDING', queue: 'qq', eta: new Date(due), flags: [] });
    // It is not due, so it does not wait.
    const waiting = async () => (await sources.experimental.getActivity?.(context))?.open.waiting;
    expect(await waiting()).toEqual([]);
    await until(async () => (await task())?.flags?.includes('overdue') === true);
    expect(await waiting()).toMatchObject([{ queue: 'qq', since: due }]);
    publish([receivedEvent('later', { eta })]);
    await until(async () => (await task())?.state === 'RECEIVED');
    expect(await task()).toMatchObject({ queue: 'qq', worker: 'w1@x', eta: new Date(due) });
  });

  it('are seen with everything else by a user with the least rights', async () => {
    const user = await createUser();
    await fill('mail', 2);
    const answers: Record<string, unknown> = {
      ping: { ok: 'pong' },
      conf: {},
      stats: { pid: 7, pool: { 'max-concurrency': 4 }, total: {} },
      active_queues: [{ name: 'mail' }],
      registered: ['shop.pay'],
      active: [],
    };
    await worker('w1@x', { answer: ({ body }) => answers[body.method] ?? {} });
    const { sources, publish, queue } = await open({ broker: rabbit().url(virtualHost(), user) });
    publish(sentEvent('a'), 'task.sent');
    publish([receivedEvent('b')]);
    await until(async () => (await sources.workers.listWorkers(context))[0]?.concurrency === 4);
    expect(await sources.workers.listWorkers(context)).toMatchObject([
      { hostname: 'w1@x', queues: ['mail'], registeredTasks: ['shop.pay'] },
    ]);
    await until(async () => (await queue('mail'))?.waiting === 2);
    expect(await queue('mail')).toMatchObject({ reserved: null, consumers: 0 });
    expect(await sources.health.checkWorkers?.(context)).toMatchObject({ ok: true, responding: ['w1@x'] });
    const components = await sources.components.listComponents(context);
    expect(components.filter(({ status }) => status === 'down')).toEqual([]);
    const { config } = await componentOf(sources, 'broker');
    expect(config).toMatchObject({ hints: [], error: null });
    await sources.close();
    const left = await rabbit().queues(virtualHost());
    expect(left.map(({ name }) => name).sort()).toEqual(['mail', 'w1@x.celery.pidbox']);
  });
});
