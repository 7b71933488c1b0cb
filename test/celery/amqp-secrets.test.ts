import { createServer, type Server, type Socket } from 'node:net';
import { connect } from 'amqplib';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import { checkBroker, componentOf, context } from '../helpers/celery-events.ts';
import { type Rabbit, rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { freePort, titleUnless, until } from '../helpers/redis-server.ts';
import { expectNoSecret, recordOutput } from './secret-watch.ts';

const login = 'S3CRETuser:S3CRETpassword@';

/** What a server does that is not RabbitMQ, or not in order. */
const servers: Readonly<Record<string, (socket: Socket) => void>> = {
  'says nothing': () => {},
  'closes the connection': (socket) => void socket.end(),
  'is no RabbitMQ': (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 S3CRET\r\n\r\n')),
  'speaks another version': (socket) => void socket.once('data', () => socket.end('AMQP\x01\x01\x00\x0a')),
  'sends a frame without end': (socket) =>
    void socket.once('data', () =>
      socket.write(Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 9]), SECRET_BYTES])),
    ),
  'sends a frame that is too large': (socket) =>
    void socket.once('data', () => socket.write(Buffer.from([1, 0, 0, 0x7f, 0xff, 0xff, 0xff, 1]))),
};

const SECRET_BYTES = Buffer.from('S3CRET-S3CRET-S3CRET');

/**
 * @param ms how long the server may take to answer
 * @returns the sentence of the broker's component
 */
async function expectKept(options: CelerySourcesOptions, ms = 400): Promise<string> {
  const sources = celerySources(options);
  try {
    const health = await checkBroker(sources, ms);
    await sources.tasks.getTask('unknown', context);
    const components = await sources.components.listComponents(context);
    expectNoSecret(health, components, sources.tasks.status?.(), sources);
    return String(health.error);
  } finally {
    await sources.close();
  }
}

describe('credentials of RabbitMQ', () => {
  const forms = (port: number): CelerySourcesOptions[] => [
    { broker: `amqp://${login}127.0.0.1:${port}/shop?S3CRET=S3CRET` },
    { broker: `amqps://${login}127.0.0.1:${port}/shop`, settings: { broker_use_ssl: { S3CRET: 'S3CRET' } } },
    { broker: `amqp://${login}127.0.0.1:1/shop;amqp://${login}127.0.0.1:${port}/shop` },
    { broker: () => connect(`amqp://${login}127.0.0.1:${port}/shop`) },
  ];

  it.each(Object.entries(servers))('are told to nobody when a server %s', async (_, answer) => {
    const { server, port } = await listen(answer);
    const written = recordOutput();
    await Promise.all(forms(port).map((form) => expectKept(form)));
    expectNoSecret(written);
    server.close();
  });

  it('are told to nobody when nothing listens, or the host has no such name', async () => {
    const written = recordOutput();
    const port = await freePort();
    await Promise.all(forms(port).map((form) => expectKept(form)));
    await expectKept({ broker: `amqp://${login}no-such-host.invalid/shop` });
    expect(written.join('\n')).toMatch(/refuses connections/);
    expectNoSecret(written);
  });

  it.each([
    'amqp://S3CRETuser:S3CRETpassword@host:port/vhost',
    'amqp://S3CRETuser:S3CRET%password@host',
    'amqp://S3CRETuser:S3CRETpassword@host?heartbeat=S3CRET',
    'amqp://S3CRETuser:S3CRETpassword@host;http://S3CRETuser@host',
  ])('are not in the error for a wrong URL', (broker) => {
    const create = (): unknown => celerySources({ broker });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(/^(?!.*S3CRET)/);
  });
});

async function listen(answer: (socket: Socket) => void): Promise<{ server: Server; port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'what RabbitMQ says of a user'), () => {
  let rabbit: Rabbit;
  let virtualHost = '';
  const user = `S3CRETuser-${crypto.randomUUID()}`;

  beforeAll(async () => {
    rabbit = await sharedRabbit();
    virtualHost = await rabbit.createVirtualHost();
    await rabbit.createUser(user, virtualHost, { configure: '^$', write: '^$', read: '^$' });
  });

  it.each([
    ['the password is wrong', () => rabbit.url(virtualHost, user, 'S3CRETwrong'), /user name or password/],
    ['the virtual host is missing', () => rabbit.url('S3CRETvhost', user), /virtual host/],
  ])('is passed on to nobody when %s', async (_, url, sentence) => {
    const written = recordOutput();
    // The broker shows the address of a virtual host.
    const error = await expectKept({ broker: () => connect(url()) }, 10_000);
    expect(error).toMatch(sentence);
    expectNoSecret(written);
  });

  it('is passed on to nobody when it refuses a right, and the hint has the command', async () => {
    const written = recordOutput();
    const sources = celerySources({ broker: rabbit.url(virtualHost, user) });
    onTestFinished(() => sources.close());
    const broker = async () => (await componentOf(sources, 'broker')).config;
    const refused = /does not exist in this virtual host yet|lacks a right that/;
    await until(async () => refused.test(String((await broker()).error)));
    expectNoSecret(await broker(), written);
    await rabbit.manage('PUT', `exchanges/${virtualHost}/celeryev`, { type: 'topic', durable: true });
    await until(async () => String((await broker()).hints).includes('rabbitmqctl set_permissions'));
    expectNoSecret((await broker()).hints, written);
  });
});
