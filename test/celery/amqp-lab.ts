/** A virtual host of a RabbitMQ with what control and queues are made of, and something that answers as workers do. */
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { endpointOf } from '../../src/amqp/amqplib.ts';
import { publishConfirmed } from '../../src/amqp/channel.ts';
import type { AmqpClientChannel, AmqpMessage, QueueDeclaration } from '../../src/amqp/client.ts';
import { type AmqpConnection, createAmqpConnection } from '../../src/amqp/connection.ts';
import { parseAmqpUrls } from '../../src/amqp/urls.ts';
import { createAmqpMailbox } from '../../src/sources/celery/brokers/amqp/control/mailbox.ts';
import { permissionLine } from '../../src/sources/celery/brokers/amqp/permissions.ts';
import {
  type Control,
  type ControlOptions,
  createControl,
} from '../../src/sources/celery/control/control.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { type Rabbit, sharedRabbit } from '../helpers/rabbitmq.ts';

const CONTEXT = { option: 'broker', ssl: null, heartbeat: null, loginMethod: null };

/** Longer than any answer takes on a busy machine, in milliseconds. A question ends when everybody has answered. */
const PATIENT_MS = 50_000;

/** What a worker heard. */
export interface Heard {
  readonly message: AmqpMessage;
  readonly body: { readonly method: string; readonly ticket: string; readonly destination: string[] | null };
}

/** Something that listens as Celery's workers do. */
export interface FakeWorker {
  readonly heard: readonly Heard[];
  /** Replies to a message of before. */
  reply(to: Heard, value?: unknown): Promise<void>;
  /** Ends it, and its queue. */
  leave(): Promise<void>;
}

/** How a worker answers. */
export interface FakeWorkerOptions {
  readonly settings?: CelerySettings;
  /** Properties of its queue. Default: those of Celery 5.2. */
  readonly queue?: QueueDeclaration;
  /** What it answers; `undefined`: nothing. Default `{ ok: 'pong' }`. */
  readonly answer?: (heard: Heard) => unknown;
}

const QUEUE: QueueDeclaration = {
  durable: false,
  autoDelete: true,
  arguments: { 'x-message-ttl': 300_000, 'x-expires': 10_000 },
};

/** For one `describe`: each test has a virtual host, and what it began is ended after it. */
export function useRabbitLab(start: () => Promise<Rabbit> = sharedRabbit) {
  let rabbit: Rabbit;
  let virtualHost = '/';
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    rabbit = await start();
  });

  beforeEach(async () => {
    virtualHost = await rabbit.createVirtualHost();
  });

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    await rabbit.manage('DELETE', `vhosts/${virtualHost}`);
  });

  function connect(user = 'guest'): AmqpConnection {
    const endpoint = endpointOf(parseAmqpUrls(rabbit.url(virtualHost, user), CONTEXT));
    const connection = createAmqpConnection({ label: 'test', endpoint });
    ends.push(() => connection.close());
    return connection;
  }

  function control(
    options: Partial<ControlOptions> & { readonly settings?: CelerySettings; readonly user?: string } = {},
  ): Control {
    const { settings = {}, user, ...more } = options;
    const rights = (): string => permissionLine({ settings, virtualHost });
    const mailbox = createAmqpMailbox({ connection: connect(user), settings, rights });
    const made = createControl({ mailbox, known: () => [], ...more });
    ends.push(() => made.close());
    return {
      ...made,
      ask: (command, given) => made.ask(command, { timeoutMs: PATIENT_MS, ...given }),
      enableEvents: (given) => made.enableEvents({ timeoutMs: PATIENT_MS, ...given }),
    };
  }

  /** Listens, with the exchange and the queue that Celery 5.2 declares. */
  async function worker(name: string, options: FakeWorkerOptions = {}): Promise<FakeWorker> {
    const { settings = {}, answer = () => ({ ok: 'pong' }), queue: declaration = QUEUE } = options;
    const exchange = `${settings.control_exchange ?? 'celery'}.pidbox`;
    const replies = `reply.${exchange}`;
    const channel = await connect().channel({ confirm: true });
    const heard: Heard[] = [];
    async function reply({ message, body }: Heard, value: unknown = { ok: 'pong' }): Promise<void> {
      const { reply_to: to } = JSON.parse(message.content.toString());
      await channel.request((raw) => raw.assertExchange(replies, 'direct', { durable: false }));
      const content = Buffer.from(JSON.stringify({ [name]: value }));
      const headers = { ticket: body.ticket, clock: 3 };
      const sent = { contentType: 'application/json', contentEncoding: 'utf-8', headers };
      await publishConfirmed(channel, {
        exchange: to.exchange,
        routingKey: to.routing_key,
        content,
        options: sent,
      });
    }
    const take = async (message: AmqpMessage | null): Promise<void> => {
      if (message === null) return;
      const body = JSON.parse(message.content.toString()) as Heard['body'];
      const one = { message, body };
      heard.push(one);
      if (body.destination !== null && !body.destination.includes(name)) return;
      const value = answer(one);
      if (value !== undefined) await reply(one, value).catch(() => {});
    };
    await channel.request(async (raw) => {
      const queue = `${name}.${exchange}`;
      await raw.assertExchange(exchange, 'fanout', { durable: false });
      await raw.assertQueue(queue, declaration);
      await raw.bindQueue(queue, exchange, '');
      await raw.consume(queue, (message) => void take(message), { noAck: true });
    });
    return { heard, reply, leave: () => channel.close() };
  }

  /** Runs requests on a channel of a user who may do everything. */
  async function run<T>(requests: (raw: AmqpClientChannel) => Promise<T>): Promise<T> {
    const channel = await connect().channel();
    return channel.request(requests);
  }

  return {
    control,
    connect,
    worker,
    run,
    rabbit: () => rabbit,
    virtualHost: () => virtualHost,
    /** The names that exist in the virtual host now. */
    async names(kind: 'queues' | 'exchanges'): Promise<string[]> {
      const rows = await rabbit.manage<{ readonly name: string }[]>('GET', `${kind}/${virtualHost}`);
      return rows.map(({ name }) => name).filter((name) => name !== '' && !name.startsWith('amq.'));
    },
    later: (end: () => Promise<unknown>) => void ends.push(end),
  };
}
