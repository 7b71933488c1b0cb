import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpointOf } from '../../src/amqp/amqplib.ts';
import { publishConfirmed } from '../../src/amqp/channel.ts';
import { type AmqpConnection, createAmqpConnection } from '../../src/amqp/connection.ts';
import { parseAmqpUrls } from '../../src/amqp/urls.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { freePort, titleUnless, until } from '../helpers/redis-server.ts';

const CONTEXT = { option: 'broker', ssl: null, heartbeat: null, loginMethod: null };

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'a connection to RabbitMQ'), () => {
  let rabbit: Rabbit;
  const open: AmqpConnection[] = [];

  function connect(url: string): AmqpConnection {
    const connection = createAmqpConnection({
      label: 'test',
      endpoint: endpointOf(parseAmqpUrls(url, CONTEXT)),
    });
    open.push(connection);
    return connection;
  }

  beforeAll(async () => {
    rabbit = await sharedRabbit();
  });

  afterAll(async () => {
    await Promise.all(open.map((connection) => connection.close()));
  });

  it('opens channels, and only one of them ends when a request is refused', async () => {
    const connection = connect(rabbit.url(await rabbit.createVirtualHost()));
    const [channel, other] = await Promise.all([connection.channel(), connection.channel()]);
    await expect(channel.request((raw) => raw.checkQueue('missing'))).rejects.toMatchObject({
      problem: { code: 'NOTFOUND' },
    });
    expect(await channel.ended).toMatchObject({ code: 'NOTFOUND' });
    expect(channel.isOpen()).toBe(false);
    await expect(other.request((raw) => raw.assertQueue('found'))).resolves.toMatchObject({
      messageCount: 0,
    });
    expect(connection.state()).toMatchObject({ up: true, problem: null, reconnects: 0 });
    expect(connection.version()).toMatch(/^\d+\.\d+/);
  });

  it('tries the next host when one does not answer', async () => {
    const virtualHost = await rabbit.createVirtualHost();
    const connection = connect(`amqp://127.0.0.1:${await freePort()}/x;${rabbit.url(virtualHost)}`);
    connection.start();
    await until(() => connection.state().up);
    expect(connection.url()).toBe(`amqp://127.0.0.1:${rabbit.port}/${virtualHost}`);
  });

  it.each([
    ['a wrong password', (url: string) => url.replace('guest:guest', 'guest:hunter2'), 'WRONGPASS'],
    ['a missing virtual host', (url: string) => `${url}-missing`, 'NOVHOST'],
    ['a port that nothing listens at', (url: string) => url.replace(/:\d+\//, ':1/'), 'ECONNREFUSED'],
  ])('names %s in a sentence without secrets', async (_, change, code) => {
    const url = change(rabbit.url(await rabbit.createVirtualHost()));
    const failed = await connect(url)
      .channel()
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ problem: { code } });
    expect(String(failed)).not.toMatch(/hunter2|guest:|missing|127\.0/);
  });

  it('reports a message that RabbitMQ refuses', async () => {
    const virtualHost = await rabbit.createVirtualHost();
    await rabbit.createUser(`reader-${virtualHost}`, virtualHost, { write: '^$' });
    const channel = await connect(rabbit.url(virtualHost, `reader-${virtualHost}`)).channel({
      confirm: true,
    });
    const message = { exchange: 'amq.topic', routingKey: 'a', content: Buffer.from('x') };
    await expect(publishConfirmed(channel, message)).rejects.toMatchObject({ problem: { code: 'NOPERM' } });
    const allowed = await connect(rabbit.url(virtualHost)).channel({ confirm: true });
    await expect(publishConfirmed(allowed, message)).resolves.toBeUndefined();
  });

  it('ends waits for replies at their deadline, and takes no channel after its end', async () => {
    const connection = connect(rabbit.url());
    const channel = await connection.channel();
    const never = channel.request(() => new Promise<void>(() => {}), { timeoutMs: 20 });
    await expect(never).rejects.toMatchObject({ problem: { code: 'TimeoutError' } });
    await connection.close();
    await expect(connection.channel()).rejects.toMatchObject({ problem: { code: 'CLOSED' } });
    expect(await channel.ended).toMatchObject({ code: 'LOST' });
  });
});
