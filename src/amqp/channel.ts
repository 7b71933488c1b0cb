/**
 * Channels with a deadline for every reply, and without unhandled errors, over the part of the package `amqplib` that this
 * library uses, by structure.
 */
import type { ServerProblem } from '../server-problems.ts';
import { AmqpError, amqpError, amqpProblems, describeAmqpError, toAmqpError } from './problems.ts';

/** How long to wait. */
export interface AmqpLimits {
  /** Gives up waiting when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Gives up waiting after this many milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_MS = 5_000;

function inTime<T>(promise: Promise<T>, { signal, timeoutMs = DEFAULT_MS }: AmqpLimits = {}): Promise<T> {
  return amqpProblems.inTime(promise, { signal, ms: timeoutMs });
}

/** A channel. RabbitMQ ends it when it refuses a request; the connection stays. */
export type AmqpChannel = ReturnType<typeof wrap>;

/** The purpose of a channel. */
export interface ChannelKind {
  /** Whether RabbitMQ confirms each published message, see {@link publishConfirmed}. Default false. */
  readonly confirm?: boolean;
}

/** How long to wait for the end of a channel, in milliseconds. */
const CLOSE_MS = 1_000;

/** @throws AmqpError when there is none */
export async function openChannel(
  client: AmqpClient,
  { confirm = false }: ChannelKind,
  limits: AmqpLimits,
): Promise<AmqpChannel> {
  const opening = attempt(() => (confirm ? client.createConfirmChannel() : client.createChannel()));
  // Nothing that happens to the channel between the reply and its arrival here may be missed.
  const wrapping = opening.then(wrap);
  try {
    return await inTime(wrapping, limits);
  } catch (error) {
    // One that opens too late must not stay open.
    void wrapping.then((late) => late.close()).catch(() => {});
    throw toAmqpError(error);
  }
}

function wrap(raw: AmqpClientChannel) {
  let isOpen = true;
  let reason: ServerProblem | null = null;
  const ended = new Promise<ServerProblem>((resolve) => {
    const end = (): void => {
      isOpen = false;
      resolve(reason ?? amqpError('LOST').problem);
    };
    // Without a listener, an error would end the host's process.
    raw.on('error', (error: unknown) => {
      isOpen = false;
      reason ??= describeAmqpError(error);
    });
    raw.on('close', end);
    raw.on('handler-error', () => {});
  });
  return {
    /** Resolves with the reason when the channel has ended, whatever ended it. */
    ended,
    /** Whether it has not ended. */
    isOpen: () => isOpen,
    /**
     * Sends a request and waits for the reply.
     *
     * @throws AmqpError when RabbitMQ refuses, is late, or the channel has ended
     */
    async request<T>(send: (channel: AmqpClientChannel) => Promise<T>, limits?: AmqpLimits): Promise<T> {
      if (!isOpen) throw amqpError('LOST');
      try {
        return await inTime(
          attempt(() => send(raw)),
          limits,
        );
      } catch (error) {
        throw toAmqpError(error);
      }
    },
    /** Sends what has no reply, such as an acknowledgement. @returns false if the channel has ended */
    send(action: (channel: AmqpClientChannel) => unknown): boolean {
      if (!isOpen) return false;
      try {
        action(raw);
        return true;
      } catch {
        return false;
      }
    },
    /** Ends it. Resolves within a second. */
    async close(): Promise<void> {
      if (!isOpen) return;
      isOpen = false;
      await inTime(
        attempt(() => raw.close()),
        { timeoutMs: CLOSE_MS },
      ).catch(() => {});
    },
  };
}

/** amqplib throws at once where a channel or connection has ended. */
async function attempt<T>(run: () => Promise<T>): Promise<T> {
  return run();
}

/**
 * Whether an exchange exists. RabbitMQ ends the channel if it does not, so each question has one of its own.
 *
 * @param connection opens the channel
 */
export async function hasExchange(
  connection: { channel(kind?: ChannelKind, limits?: AmqpLimits): Promise<AmqpChannel> },
  exchange: string,
  limits: AmqpLimits = {},
): Promise<boolean> {
  const channel = await connection.channel({}, limits);
  try {
    await channel.request((raw) => raw.checkExchange(exchange), limits);
    return true;
  } catch (error) {
    if (describeAmqpError(error).code === 'NOTFOUND') return false;
    throw error;
  } finally {
    void channel.close();
  }
}

/**
 * Publishes on a channel that confirms, and waits until RabbitMQ has accepted the message.
 *
 * @throws AmqpError when it was not accepted, or that is unknown
 */
export function publishConfirmed(
  channel: AmqpChannel,
  message: {
    readonly exchange: string;
    readonly routingKey: string;
    readonly content: Buffer;
    readonly options?: PublishOptions;
  },
  limits?: AmqpLimits,
): Promise<void> {
  const { exchange, routingKey, content, options } = message;
  return channel.request(
    (raw) =>
      new Promise<void>((resolve, reject) => {
        raw.publish(exchange, routingKey, content, options, (error) => {
          if (error === null || error === undefined) resolve();
          else void whyUnconfirmed(channel).then(reject);
        });
      }),
    limits,
  );
}

/** The callback of a message comes before the end of its channel is reported, which has the reason. */
async function whyUnconfirmed(channel: AmqpChannel): Promise<AmqpError> {
  await Promise.resolve();
  return channel.isOpen() ? amqpError('REFUSED') : new AmqpError(await channel.ended);
}

/** The part of Node's EventEmitter that connections and channels have. */
interface AmqpEmitter {
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  removeListener(event: string, listener: (...values: unknown[]) => void): unknown;
}

/** A connection of amqplib: with or without its recovery. */
export interface AmqpClient extends AmqpEmitter {
  createChannel(): Promise<AmqpClientChannel>;
  createConfirmChannel(): Promise<AmqpClientChannel>;
  close(): Promise<void>;
}

/** The number of messages that are ready, and of consumers. */
interface QueueFacts {
  readonly messageCount: number;
  readonly consumerCount: number;
}

/** A message that a consumer received. */
export interface AmqpMessage {
  readonly content: Buffer;
  readonly fields: { readonly deliveryTag: number };
  readonly properties: {
    readonly contentType?: unknown;
    readonly headers?: Readonly<Record<string, unknown>> | undefined;
  };
}

/** Options of a declared queue. */
interface QueueDeclaration {
  readonly durable?: boolean;
  readonly exclusive?: boolean;
  readonly autoDelete?: boolean;
  /** Such as `x-expires`. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** Options of a published message. */
interface PublishOptions {
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly persistent?: boolean;
  /** Whether RabbitMQ returns a message that no queue receives: the channel emits `return`. */
  readonly mandatory?: boolean;
}

/** A channel of amqplib. It emits `error` and `close`. */
export interface AmqpClientChannel extends AmqpEmitter {
  close(): Promise<void>;
  checkQueue(queue: string): Promise<QueueFacts>;
  assertQueue(queue: string, options?: QueueDeclaration): Promise<QueueFacts>;
  deleteQueue(queue: string): Promise<unknown>;
  checkExchange(exchange: string): Promise<unknown>;
  assertExchange(exchange: string, type: string, options?: { readonly durable?: boolean }): Promise<unknown>;
  bindQueue(queue: string, exchange: string, routingKey: string): Promise<unknown>;
  prefetch(count: number): Promise<unknown>;
  consume(
    queue: string,
    take: (message: AmqpMessage | null) => void,
    options?: { readonly noAck?: boolean },
  ): Promise<unknown>;
  ack(message: { readonly fields: { readonly deliveryTag: number } }, allUpTo?: boolean): void;
  /** On a confirm channel, `confirmed` is called once RabbitMQ has accepted or refused the message. */
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options?: PublishOptions,
    confirmed?: (error: unknown) => void,
  ): boolean;
}

/** Whether a value is a connection of amqplib. */
export function isAmqpClient(value: unknown): value is AmqpClient {
  const client = value as Partial<Record<keyof AmqpClient, unknown>> | null;
  return (
    typeof client === 'object' &&
    client !== null &&
    [client.createChannel, client.createConfirmChannel, client.on, client.removeListener].every(
      (method) => typeof method === 'function',
    )
  );
}
