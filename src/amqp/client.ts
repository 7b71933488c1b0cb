/** The part of the package `amqplib` that this library uses, by structure. Imports nothing. */

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
export interface PublishOptions {
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
