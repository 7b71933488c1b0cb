/** A virtual host of a RabbitMQ with a source, and something that answers as workers do. */
import { type ChannelModel, type ConfirmChannel, type ConsumeMessage, connect } from 'amqplib';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import {
  type CelerySettings,
  type CelerySources,
  type CelerySourcesOptions,
  celerySources,
} from '../../src/celery.ts';
import { type Rabbit, type RabbitPermissions, sharedRabbit } from '../helpers/rabbitmq.ts';
import { until } from '../helpers/redis-server.ts';

/** The rights that docs/celery-rabbitmq.md names. */
export const LEAST: Required<RabbitPermissions> = {
  configure: '^(express-task-monitor\\..*|reply\\.celery\\.pidbox)$',
  write: '^(express-task-monitor\\..*|celery\\.pidbox)$',
  read: '^(express-task-monitor\\..*|celeryev|reply\\.celery\\.pidbox)$',
};

/** The body of a message of a task. */
const MESSAGE = Buffer.from('[[1], {}, {}]');

/** What a worker heard. */
export interface Heard {
  readonly message: ConsumeMessage;
  readonly body: {
    readonly method: string;
    readonly ticket: string;
    readonly destination: string[] | null;
    readonly reply_to: { readonly exchange: string; readonly routing_key: string };
  };
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
  readonly queue?: object;
  /** What it answers; `undefined`: nothing. Default `{ ok: 'pong' }`. */
  readonly answer?: (heard: Heard) => unknown;
}

const QUEUE = {
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

  /** A source, as a user with a password of the same name. Connected, unless the events are denied. */
  async function open({
    user,
    ...options
  }: Partial<CelerySourcesOptions> & { readonly user?: string } = {}): Promise<CelerySources> {
    // The exchange of events exists wherever workers were.
    await run((raw) => raw.assertExchange('celeryev', 'topic', { durable: true }));
    const sources = celerySources({ broker: rabbit.url(virtualHost, user), ...options });
    ends.push(async () => sources.close());
    await until(() => sources.events.status?.().ok === true);
    return sources;
  }

  async function channelOf(): Promise<{ model: ChannelModel; raw: ConfirmChannel }> {
    const model = await connect(rabbit.url(virtualHost));
    model.on('error', () => {});
    ends.push(() => model.close().catch(() => {}));
    const raw = await model.createConfirmChannel();
    raw.on('error', () => {});
    return { model, raw };
  }

  /** Listens, with the exchange and the queue that Celery 5.2 declares. */
  async function worker(name: string, options: FakeWorkerOptions = {}): Promise<FakeWorker> {
    const { settings = {}, answer = () => ({ ok: 'pong' }), queue: declaration = QUEUE } = options;
    const exchange = `${settings.control_exchange ?? 'celery'}.pidbox`;
    const { model, raw } = await channelOf();
    const heard: Heard[] = [];
    async function reply({ body }: Heard, value: unknown = { ok: 'pong' }): Promise<void> {
      await raw.assertExchange(`reply.${exchange}`, 'direct', { durable: false });
      const content = Buffer.from(JSON.stringify({ [name]: value }));
      const headers = { ticket: body.ticket, clock: 3 };
      const { exchange: to, routing_key: key } = body.reply_to;
      raw.publish(to, key, content, { contentType: 'application/json', contentEncoding: 'utf-8', headers });
      await raw.waitForConfirms();
    }
    const take = async (message: ConsumeMessage | null): Promise<void> => {
      if (message === null) return;
      const one = { message, body: JSON.parse(message.content.toString()) as Heard['body'] };
      heard.push(one);
      if (one.body.destination?.includes(name) === false) return;
      const value = answer(one);
      if (value !== undefined) await reply(one, value).catch(() => {});
    };
    const queue = `${name}.${exchange}`;
    await raw.assertExchange(exchange, 'fanout', { durable: false });
    await raw.assertQueue(queue, declaration);
    await raw.bindQueue(queue, exchange, '');
    await raw.consume(queue, (message) => void take(message), { noAck: true });
    return { heard, reply, leave: () => model.close() };
  }

  /** Runs requests on a channel of a user who may do everything. */
  async function run<T>(requests: (raw: ConfirmChannel) => Promise<T>): Promise<T> {
    return requests((await channelOf()).raw);
  }

  /** Publishes messages to a queue, which it declares, and resolves when RabbitMQ counts them. */
  async function fill(queue: string, count: number, more: object = {}): Promise<void> {
    await run(async (raw) => {
      const { messageCount } = await raw.assertQueue(queue, { durable: true, ...more });
      for (let sent = 0; sent < count; sent += 1) raw.publish('', queue, MESSAGE);
      await raw.waitForConfirms();
      await until(async () => (await raw.checkQueue(queue)).messageCount === messageCount + count);
    });
  }

  return {
    open,
    worker,
    run,
    fill,
    rabbit: () => rabbit,
    virtualHost: () => virtualHost,
    /** The names that exist in the virtual host now. */
    async names(kind: 'queues' | 'exchanges'): Promise<string[]> {
      const rows = await rabbit.manage<{ readonly name: string }[]>('GET', `${kind}/${virtualHost}`);
      return rows.map(({ name }) => name).filter((name) => name !== '' && !name.startsWith('amq.'));
    },
    /** A user with these rights. @returns its name, which is also its password */
    async user(rights: RabbitPermissions = LEAST): Promise<string> {
      const name = `user-${crypto.randomUUID()}`;
      await rabbit.createUser(name, virtualHost, rights);
      ends.push(() => rabbit.manage('DELETE', `users/${name}`));
      return name;
    },
    later: (end: () => Promise<unknown>) => void ends.push(end),
  };
}
