import { expect, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { ComponentsBody, EventsBody, HealthBody, TasksBody } from '../../src/wire.ts';
import { type AmqpPublisher, amqpPublisher, receivedEvent } from '../helpers/amqp-events.ts';
import {
  type OwnRabbit,
  type Rabbit,
  rabbitMissing,
  sharedRabbit,
  startRabbit,
} from '../helpers/rabbitmq.ts';
import { until } from '../helpers/redis-server.ts';
import type { Host } from '../router/host-kit.ts';
import { countFailedConnects } from './kit/condition.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';
import { FILLED, untilCurrent } from './kit/redis-sources.ts';
import { type LinkFault, startTcpProxy, type TcpProxy } from './kit/tcp-proxy.ts';

const rabbitCase: typeof faultCase = (row, title, run) =>
  faultCase(row, title, run, { missing: rabbitMissing, timeout: 180_000 });

async function rabbitFor(): Promise<OwnRabbit> {
  const rabbit = await startRabbit();
  onTestFinished(() => rabbit.close());
  return rabbit;
}

/** Publishes what a worker would. */
async function fill(rabbit: Rabbit, virtualHost = '/'): Promise<void> {
  const publisher = await amqpPublisher(rabbit.url(virtualHost));
  for (let index = 0; index < FILLED; index += 1) publisher.publish([receivedEvent(`task-${index}`)]);
  await publisher.confirmed();
  await publisher.close();
}

/** Serves a source that shows what was published. */
async function serveFilled(
  bench: FaultBench,
  rabbit: Rabbit,
  broker: string,
  virtualHost = '/',
): Promise<Host> {
  const sources = celerySources({ broker });
  const host = await bench.serve({ sources, timeoutMs: 1_000, health: { reuseMs: 0 } });
  await until(() => sources.events.status?.().ok === true);
  await fill(rabbit, virtualHost);
  await untilCurrent(host);
  return host;
}

async function untilWell(host: Host): Promise<number> {
  const start = performance.now();
  await until(async () => (await host.get<HealthBody>('/healthcheck?checks=broker')).body.ok, 60_000);
  return performance.now() - start;
}

rabbitCase(20, 'RabbitMQ is started again', async (bench) => {
  const rabbit = await rabbitFor();
  const host = await serveFilled(bench, rabbit, rabbit.url());
  const failedConnects = countFailedConnects(rabbit.port);
  await rabbit.kill();
  await until(async () => (await host.get<TasksBody>('/api/tasks/')).body.sources[0]?.ok === false);
  // By then, attempts to connect are as far apart as they get.
  await until(() => failedConnects() >= 4);
  await rabbit.start();
  const ms = await untilWell(host);
  bench.figure('well again after, ms', Math.round(ms));
  expect(ms).toBeLessThan(10 * 6_000);
  await untilCurrent(host, 20_000);
});

const GARBAGE = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n<html>\0\xff', 'latin1');

const LINKS: readonly (readonly [title: string, fault: LinkFault])[] = [
  ['is slow by 200 ms', { delayMs: 200 }],
  ['carries a byte a second', { bytesPerSecond: 1 }],
  ['is half open', { halfOpen: true }],
  ['resets new connections', { refuse: true }],
  ['is reset after 7 bytes', { cutAfter: 7, end: 'reset' }],
  ['is ended after 600 bytes', { cutAfter: 600, end: 'fin' }],
  ['answers with garbage', { garbage: GARBAGE }],
  ['is flooded with garbage', { flood: GARBAGE }],
];

for (const [title, fault] of LINKS) {
  rabbitCase(22, `the link to RabbitMQ ${title}`, async (bench) => {
    const rabbit = await sharedRabbit();
    const virtualHost = await rabbit.createVirtualHost();
    const proxy: TcpProxy = await startTcpProxy(rabbit.port);
    const broker = rabbit.url(virtualHost).replace(`:${rabbit.port}/`, `:${proxy.port}/`);
    const host = await serveFilled(bench, rabbit, broker, virtualHost);
    proxy.set(fault);
    let opened = 0;
    // First on the connections there are, then on new ones.
    for (const limit of [401, 402]) {
      const path = `/api/tasks/?limit=${limit}`;
      const { body } = await bench.expectAnswer<TasksBody>(host, path, { status: 200, aimMs: 50 });
      expect(body.tasks).toHaveLength(FILLED);
      await bench.expectAnswer(host, '/healthcheck?checks=broker', { status: [200, 503], aimMs: 1_100 });
      opened = proxy.opened();
      proxy.reset();
    }
    // The source has come back to the spoilt link.
    await until(() => proxy.opened() > opened);
    proxy.set({});
    proxy.reset();
    bench.figure('current again after, ms', Math.round(await untilCurrent(host)));
    await untilWell(host);
  });
}

/** Publishes events and answers requests, as a worker does. */
async function workerFor(rabbit: Rabbit): Promise<AmqpPublisher> {
  const worker = await amqpPublisher(rabbit.url());
  onTestFinished(() => worker.close());
  const { channel } = worker;
  await channel.assertExchange('celery.pidbox', 'fanout', { durable: false });
  await channel.assertExchange('reply.celery.pidbox', 'direct', { durable: false });
  const { queue } = await channel.assertQueue('w1@alpha.celery.pidbox', { durable: false, autoDelete: true });
  await channel.bindQueue(queue, 'celery.pidbox', '');
  const answer = (content: Buffer): void => {
    const { method, ticket, reply_to: to } = JSON.parse(content.toString());
    const reply = JSON.stringify({ 'w1@alpha': method === 'ping' ? { ok: 'pong' } : {} });
    const options = { contentType: 'application/json', contentEncoding: 'utf-8', headers: { ticket } };
    channel.publish(to.exchange, to.routing_key, Buffer.from(reply), options);
  };
  await channel.consume(queue, (message) => message !== null && answer(message.content), { noAck: true });
  return worker;
}

rabbitCase(94, 'RabbitMQ is short of memory and then of disk space, and takes no messages', async (bench) => {
  const rabbit = await rabbitFor();
  const worker = await workerFor(rabbit);
  const sources = celerySources({ broker: rabbit.url() });
  const host = await bench.serve({ sources, timeoutMs: 3_000, health: { ping: true, reuseMs: 0 } });
  await until(() => sources.events.status?.().ok === true);
  await fill(rabbit);
  await untilCurrent(host);
  const health = async (check: 'broker' | 'workers'): Promise<HealthBody> =>
    (await host.get<HealthBody>(`/healthcheck?checks=${check}`)).body;
  const statusOf = async (key: string) => {
    const { body } = await host.get<ComponentsBody>('/api/components/');
    return body[key];
  };
  await until(async () => (await health('workers')).ok);
  expect((await health('broker')).ok).toBe(true);
  const { cursor } = (await host.get<EventsBody>('/api/events/latest/')).body;

  await rabbit.control('set_vm_memory_high_watermark', '0');
  worker.publish([receivedEvent('held')]);
  // Nothing is published without need, so a request to the workers is what finds it out.
  await until(async () => {
    await health('workers');
    return !(await health('broker')).ok;
  });
  const { body } = await bench.expectAnswer<TasksBody>(host, '/api/tasks/?limit=1000', {
    status: 200,
    aimMs: 50,
  });
  expect(body.sources).toMatchObject([{ ok: true }]);
  expect(body.tasks).toHaveLength(FILLED);
  await bench.expectAnswer(host, '/healthcheck?checks=broker', { status: 503, aimMs: 1_100 });
  await bench.expectAnswer(host, '/api/workers/', { status: 200, aimMs: 1_100 });
  await until(async () => (await statusOf('celery.broker'))?.status === 'down', 20_000);
  // The first check may have waited in vain before RabbitMQ told why.
  await until(
    async () => JSON.stringify(await statusOf('celery.broker')).includes('short of memory'),
    60_000,
  );
  const { config } = (await statusOf('celery.broker')) ?? {};
  expect(config).toMatchObject({ error: expect.stringContaining('short of memory or disk space') });
  expect(JSON.stringify(config?.hints)).toContain('rabbitmq-diagnostics alarms');
  expect(JSON.stringify((await statusOf('celery.control'))?.config)).toContain(
    'short of memory or disk space',
  );

  // One that begins and ends meanwhile leaves nothing.
  const later = celerySources({ broker: rabbit.url() });
  await until(() => later.events.status?.().ok === true);
  const closing = performance.now();
  await later.close();
  bench.figure('closed after, ms', Math.round(performance.now() - closing));
  expect(performance.now() - closing).toBeLessThan(10_000);
  const ours = async () => (await rabbit.queues('/')).filter(({ name }) => name.endsWith('.celeryev'));
  await until(async () => (await ours()).length === 1, 10_000);

  await rabbit.control('set_disk_free_limit', '1000000GB');
  await rabbit.control('set_vm_memory_high_watermark', '0.8');
  await bench.expectAnswer(host, '/healthcheck?checks=broker', { status: 503, aimMs: 1_100 });
  await rabbit.control('set_disk_free_limit', '50MB');
  bench.figure('well again after, ms', Math.round(await untilWell(host)));
  await until(async () => (await health('workers')).ok);
  await until(async () => (await host.get('/api/tasks/held/')).status === 200);
  const feed = await host.get<EventsBody>(`/api/events/latest/?since=${cursor}`);
  expect(feed.body).toMatchObject({ gap: false, events: [{ task_id: 'held' }] });
});
