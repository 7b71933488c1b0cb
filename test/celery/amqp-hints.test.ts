import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Broker } from '../../src/sources/celery/broker.ts';
import { connectionsOf } from '../../src/sources/celery/connect.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { amqpPublisher } from '../helpers/amqp-events.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'hints about RabbitMQ'), () => {
  let rabbit: Rabbit;
  let virtualHost = '';

  beforeAll(async () => {
    rabbit = await sharedRabbit();
  });

  /** A broker that listens. */
  async function listen(settings: CelerySettings = {}, management?: object): Promise<Broker> {
    const broker = rabbit.url(virtualHost);
    const connections = connectionsOf({ broker, sql: null, settings, queues: [], management });
    onTestFinished(() => connections.close());
    if (connections.broker === null) throw new Error('There is no broker.');
    const ignore = (): void => {};
    const handlers = {
      message: ignore,
      lost: ignore,
      unreadable: ignore,
      up: ignore,
      gap: ignore,
      down: ignore,
    };
    connections.broker.events.start(handlers);
    const { events } = connections.broker;
    await until(() => events.state().up);
    return connections.broker;
  }

  const diagnose = async (broker: Broker) => (await broker.diagnose?.(AbortSignal.timeout(10_000))) ?? [];

  it('name the virtual host where no worker has ever been, and another one where some were', async () => {
    virtualHost = await rabbit.createVirtualHost();
    const broker = await listen();
    const [before] = await diagnose(broker);
    expect(before).toMatchObject({ code: 'wrong_database', component: 'broker' });
    expect(before?.sentence).toContain(`'${virtualHost}'`);
    const worker = await amqpPublisher(rabbit.url('/'));
    await worker.close();
    const [hint] = await diagnose(broker);
    expect(hint).toMatchObject({ code: 'wrong_database', line: "broker: 'amqp://…/'" });
    expect(hint?.sentence).toContain("some have used '/'");
  });

  it('name event_exchange where workers use the virtual host, but not this exchange', async () => {
    virtualHost = await rabbit.createVirtualHost();
    await rabbit.manage('PUT', `exchanges/${virtualHost}/shop.pidbox`, { type: 'fanout', durable: false });
    const [hint] = await diagnose(await listen({ control_exchange: 'shop', event_exchange: 'shopev' }));
    expect(hint).toMatchObject({ code: 'wrong_channel' });
    expect(hint?.sentence).toContain("the exchange 'shopev'");
  });

  it('are none where workers have declared the exchange', async () => {
    virtualHost = await rabbit.createVirtualHost();
    await (await amqpPublisher(rabbit.url(virtualHost))).close();
    expect(await diagnose(await listen())).toEqual([]);
  });

  it('name a policy that drops events earlier than the queue itself', async () => {
    virtualHost = await rabbit.createVirtualHost();
    const definition = { 'message-ttl': 5_000, 'max-length': 1_000_000, expires: 86_400_000 };
    const policy = { pattern: '.*', 'apply-to': 'queues', definition };
    await rabbit.manage('PUT', `policies/${virtualHost}/short`, policy);
    const management = { url: rabbit.managementUrl, username: 'guest', password: 'guest' };
    const broker = await listen({}, management);
    await until(() => (broker.hints?.().length ?? 0) > 0);
    expect(broker.hints?.()).toMatchObject([{ code: 'queue_policy', line: 'message-ttl: 5000' }]);
    expect(broker.hints?.()[0]?.sentence).toContain("The policy 'short'");
    expect((await listen()).hints?.()).toEqual([]);
  });
});
