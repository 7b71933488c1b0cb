import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { startTcpProxy, type TcpProxy } from '../faults/kit/tcp-proxy.ts';
import { type AmqpPublisher, amqpPublisher, receivedEvent } from '../helpers/amqp-events.ts';
import { componentOf, context, feedOf, stateOf } from '../helpers/celery-events.ts';
import { openMeter } from '../helpers/meters.ts';
import { type Rabbit, type RabbitQueue, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, "Celery's events over RabbitMQ"), () => {
  let rabbit: Rabbit;

  beforeAll(async () => {
    rabbit = await sharedRabbit();
  });

  interface Lab {
    readonly sources: CelerySources;
    readonly publisher: AmqpPublisher;
    /** Between the source and RabbitMQ. */
    readonly proxy: TcpProxy;
    readonly virtualHost: string;
    /** The queue of events as RabbitMQ knows it; `null`: it is gone. */
    queue(): Promise<RabbitQueue | null>;
    /** Publishes tasks with these ids, one event in each message. */
    publish(from: number, to: number): Promise<void>;
    /** Cuts the connection, does this, and waits until the source is connected again. */
    cutWhile(what: () => Promise<unknown>): Promise<void>;
    cursor(): Promise<string>;
  }

  async function open(options: Omit<CelerySourcesOptions, 'broker'> = {}): Promise<Lab> {
    const virtualHost = await rabbit.createVirtualHost();
    const publisher = await amqpPublisher(rabbit.url(virtualHost));
    const proxy = await startTcpProxy(rabbit.port);
    const broker = rabbit.url(virtualHost).replace(`:${rabbit.port}/`, `:${proxy.port}/`);
    const sources = celerySources({ broker, control: false, ...options });
    onTestFinished(async () => {
      await sources.close();
      await publisher.close();
    });
    const isUp = (): boolean => sources.events.status?.().ok === true;
    await until(isUp);
    return {
      sources,
      publisher,
      proxy,
      virtualHost,
      async queue() {
        const queues = await rabbit.queues(virtualHost);
        return queues.find(({ name }) => name.startsWith('express-task-monitor.')) ?? null;
      },
      async publish(from, to) {
        for (let id = from; id < to; id += 1) publisher.publish([receivedEvent(`task-${id}`)]);
        await publisher.confirmed();
      },
      async cutWhile(what) {
        proxy.set({ refuse: true });
        proxy.reset();
        await until(() => !isUp());
        await what();
        proxy.set({});
        await until(isUp);
      },
      cursor: async () => (await listEvents(sources)).cursor ?? '',
    };
  }

  async function listEvents(sources: CelerySources) {
    return await sources.events.listEvents(
      { limit: 1, since: null, states: [], workers: [], tasks: [] },
      context,
    );
  }

  const has = (sources: CelerySources, id: number) => async (): Promise<boolean> =>
    (await stateOf(sources, `task-${id}`)) !== null;

  it('come through a queue that is bounded by length and time, and is deleted at the end', async () => {
    const { sources, queue, publish } = await open({ eventQueue: { maxLength: 5_000, expires: 60 } });
    await publish(0, 3);
    await until(has(sources, 2));
    expect(await queue()).toMatchObject({
      durable: true,
      exclusive: false,
      arguments: { 'x-max-length': 5_000, 'x-overflow': 'drop-head', 'x-expires': 60_000 },
    });
    const { config, url } = await componentOf(sources, 'broker');
    expect(config).toMatchObject({ transport: 'amqp', error: null, event_queue: (await queue())?.name });
    expect(url).not.toContain('guest');
    await sources.close();
    expect(await queue()).toBeNull();
  });

  it('that are published while the connection is cut arrive afterwards, and each reconnect is a gap', async () => {
    const { sources, publish, cutWhile, cursor } = await open();
    await publish(0, 1_000);
    await until(has(sources, 999));
    const before = await cursor();
    await cutWhile(() => publish(1_000, 2_000));
    await publish(2_000, 2_001);
    await until(has(sources, 2_000));
    for (let id = 1_000; id < 2_000; id += 1) expect(await has(sources, id)()).toBe(true);
    expect(await feedOf(sources, before)).toMatchObject({ gap: true });
    const between = await cursor();
    await cutWhile(async () => {});
    expect(await feedOf(sources, between)).toMatchObject({ gap: true });
  });

  it('that were delivered but not taken when the connection was cut arrive afterwards, and count once', async () => {
    const { sources, proxy, publish, cursor } = await open();
    const meter = openMeter(sources, { hostname: false, mostSeries: 1_000 });
    const before = await cursor();
    for (let cut = 0; cut < 5; cut += 1) {
      const publishing = publish(cut * 100, (cut + 1) * 100);
      await until(has(sources, cut * 100));
      proxy.reset();
      await publishing;
    }
    await until(has(sources, 499));
    const received = (await meter.collect(context)).find(({ name }) => name === 'celery_task_received_total');
    meter.close();
    expect([...(received?.samples ?? [])]).toMatchObject([{ value: 500 }]);
    const { events } = await feedOf(sources, before);
    expect([events.length, new Set(events.map(({ taskId }) => taskId)).size]).toEqual([500, 500]);
  });

  it.each([
    ['deleted', 'DELETE', ''],
    ['emptied', 'DELETE', '/contents'],
  ] as const)('are missing where the queue was %s, and later ones arrive', async (_, method, path) => {
    const { sources, virtualHost, queue, publish, cutWhile } = await open();
    await publish(0, 10);
    await until(has(sources, 9));
    await cutWhile(async () => {
      await publish(10, 20);
      await rabbit.manage(method, `queues/${virtualHost}/${(await queue())?.name}${path}`);
    });
    await publish(30, 31);
    await until(has(sources, 30));
    expect(await has(sources, 15)()).toBe(false);
  });

  it('that did not fit into the queue are missing, and the newest are there', async () => {
    const { sources, publish, cutWhile } = await open({ eventQueue: { maxLength: 1_000 } });
    await publish(0, 10);
    await until(has(sources, 9));
    await cutWhile(() => publish(10, 1_510));
    await until(has(sources, 1_509));
    expect(await has(sources, 510)()).toBe(true);
    expect(await has(sources, 509)()).toBe(false);
  });

  it('over an exclusive queue are a gap after each reconnect, and nothing is left while it is away', async () => {
    const { sources, queue, publish, cutWhile, cursor } = await open({ eventQueue: { exclusive: true } });
    await publish(0, 10);
    await until(has(sources, 9));
    expect(await queue()).toMatchObject({ durable: false, exclusive: true });
    const before = await cursor();
    await cutWhile(() => until(async () => (await queue()) === null));
    await publish(10, 11);
    await until(has(sources, 10));
    expect(await feedOf(sources, before)).toMatchObject({ gap: true });
  });

  it('go on when an operator deletes the queue under the connection', async () => {
    const { sources, virtualHost, queue, publish, cursor } = await open();
    await publish(0, 10);
    await until(has(sources, 9));
    const before = await cursor();
    await rabbit.manage('DELETE', `queues/${virtualHost}/${(await queue())?.name}`);
    await until(async () => (await feedOf(sources, before)).gap);
    await publish(10, 11);
    await until(has(sources, 10));
  });

  it('in long arrays and in other serializers are taken or counted, and none ends the consumer', async () => {
    const { sources, publisher } = await open();
    const many = Array.from({ length: 2_000 }, (_, id) => receivedEvent(`task-${id}`));
    publisher.publish(many);
    publisher.publish('{"type": "task-received", "uuid": "nan", "hostname": "w", "timestamp": NaN}');
    publisher.publish('no JSON');
    publisher.publish('', 'worker.heartbeat');
    publisher.publish([receivedEvent('packed')], 'task.multi', { contentType: 'application/x-msgpack' });
    publisher.publish([receivedEvent('zipped')], 'task.multi', {
      headers: { compression: 'application/x-gzip' },
    });
    publisher.publish([receivedEvent('task-2000')]);
    await until(has(sources, 2_000));
    expect(await has(sources, 1_999)()).toBe(true);
    expect((await componentOf(sources, 'collector')).config.dropped).toBe(4);
  });
});
