import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import type { HealthBody, TasksBody } from '../../src/wire.ts';
import { amqpPublisher, receivedEvent } from '../helpers/amqp-events.ts';
import {
  type OwnRabbit,
  type Rabbit,
  rabbitMissing,
  sharedRabbit,
  startRabbit,
} from '../helpers/rabbitmq.ts';
import { until } from '../helpers/redis-server.ts';
import type { Host } from '../router/host-kit.ts';
import { type FaultBench, faultCase } from './kit/fault-case.ts';
import { expectAway, FILLED, untilCurrent } from './kit/redis-sources.ts';
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

rabbitCase(19, 'RabbitMQ is killed in the middle of checks', async (bench) => {
  const rabbit = await rabbitFor();
  const host = await serveFilled(bench, rabbit, rabbit.url());
  const waiting = Array.from({ length: 10 }, () => host.get<HealthBody>('/healthcheck?checks=broker'));
  await rabbit.kill();
  for (const { status } of await Promise.all(waiting)) expect([200, 503]).toContain(status);
  await until(async () => (await host.get<TasksBody>('/api/tasks/')).body.sources[0]?.ok === false);
  await expectAway(bench, host, '/api/tasks/', 50);
  await bench.expectAnswer(host, '/healthcheck', { status: 503, aimMs: 1_100 });
});

rabbitCase(20, 'RabbitMQ is started again', async (bench) => {
  const rabbit = await rabbitFor();
  const host = await serveFilled(bench, rabbit, rabbit.url());
  await rabbit.kill();
  await until(async () => (await host.get<TasksBody>('/api/tasks/')).body.sources[0]?.ok === false);
  // Long enough that attempts to connect are as far apart as they get.
  await sleep(5_000);
  await rabbit.start();
  const ms = await untilWell(host);
  bench.figure('well again after, ms', Math.round(ms));
  expect(ms).toBeLessThan(10 * 6_000);
  await untilCurrent(host, 20_000);
});

rabbitCase(21, 'RabbitMQ is frozen until that is noticed, and goes on', async (bench) => {
  const rabbit = await rabbitFor();
  const host = await serveFilled(bench, rabbit, rabbit.url());
  rabbit.freeze();
  for (let asked = 0; asked < 3; asked += 1) {
    const { body } = await bench.expectAnswer<TasksBody>(host, `/api/tasks/?limit=${500 + asked}`, {
      status: 200,
      aimMs: 50,
    });
    expect(body.tasks).toHaveLength(FILLED);
    await bench.expectAnswer(host, '/healthcheck?checks=broker', { status: [200, 503], aimMs: 1_100 });
    await sleep(1_000);
  }
  await until(async () => (await host.get<TasksBody>('/api/tasks/')).body.sources[0]?.ok === false);
  rabbit.thaw();
  bench.figure('current again after, ms', Math.round(await untilCurrent(host, 40_000)));
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
    // First on the connections there are, then on new ones.
    for (const limit of [401, 402]) {
      const path = `/api/tasks/?limit=${limit}`;
      const { body } = await bench.expectAnswer<TasksBody>(host, path, { status: 200, aimMs: 50 });
      expect(body.tasks).toHaveLength(FILLED);
      await bench.expectAnswer(host, '/healthcheck?checks=broker', { status: [200, 503], aimMs: 1_100 });
      proxy.reset();
    }
    await sleep(1_000);
    proxy.set({});
    proxy.reset();
    bench.figure('current again after, ms', Math.round(await untilCurrent(host)));
    await untilWell(host);
  });
}
