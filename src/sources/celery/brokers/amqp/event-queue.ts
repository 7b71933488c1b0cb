/** The queue that collects events for this instance, while it is connected and for some minutes when it is not. */
import { randomUUID } from 'node:crypto';
import type { AmqpChannel } from '../../../../amqp/channel.ts';
import type { QueueDeclaration, QueueFacts } from '../../../../amqp/client.ts';
import { AmqpError, describeAmqpError } from '../../../../amqp/problems.ts';
import type { AmqpSession } from '../../../../amqp/session.ts';
import type { CelerySettings } from '../../settings.ts';
import { OWN_PREFIX } from './control/control-names.ts';
import type { ResolvedEventQueue } from './event-queue-options.ts';

/** The queue as it is declared in RabbitMQ. */
export interface EventQueue {
  readonly exchange: string;
  /** The same for as long as this instance runs, unless the queue is exclusive. */
  name(): string;
  readonly maxLength: number;
  /** How long RabbitMQ keeps it without a consumer, in milliseconds. */
  readonly expiresMs: number;
  readonly isExclusive: boolean;
}

/** Chooses the name of the queue. */
export function eventQueueOf(
  settings: CelerySettings,
  { maxLength, expires, exclusive }: ResolvedEventQueue,
): EventQueue & Declared {
  const id = `${OWN_PREFIX}${randomUUID()}`;
  let sessions = 0;
  return {
    exchange: settings.event_exchange ?? 'celeryev',
    // RabbitMQ may not have noticed yet that the connection of the last one is gone.
    name: () => `${id}${exclusive ? `.${sessions}` : ''}.${settings.event_queue_prefix ?? 'celeryev'}`,
    nextSession() {
      sessions += 1;
    },
    maxLength,
    expiresMs: expires * 1000,
    isExclusive: exclusive,
    declaration: {
      // RabbitMQ 4.3 refuses queues that are neither durable nor exclusive.
      durable: !exclusive,
      exclusive,
      arguments: {
        'x-max-length': maxLength,
        'x-overflow': 'drop-head',
        ...(exclusive ? {} : { 'x-queue-type': 'classic', 'x-expires': expires * 1000 }),
      },
    },
  };
}

/** How it is declared. */
export interface Declared {
  readonly declaration: QueueDeclaration;
  /** To be called before each declaration. */
  nextSession(): void;
}

/** A channel with the declared queue. */
export interface OpenedQueue {
  readonly channel: AmqpChannel;
  /** Before it was consumed; `null`: it did not exist. */
  readonly found: QueueFacts | null;
  /** Whether the exchange existed before; only workers and clients with events declare it, besides monitors. */
  readonly hadExchange: boolean;
}

/**
 * Declares the queue unless it exists, and binds it to the exchange of events.
 *
 * @throws AmqpError
 */
export async function openEventQueue(
  session: AmqpSession,
  queue: EventQueue & Declared,
): Promise<OpenedQueue> {
  queue.nextSession();
  const hadExchange = await exists(session, (channel) =>
    channel.request((raw) => raw.checkExchange(queue.exchange)),
  );
  const found = queue.isExclusive
    ? null
    : await exists(session, (channel) => channel.request((raw) => raw.checkQueue(queue.name())));
  const channel = await session.channel();
  if (hadExchange === null) await declareExchange(channel, queue.exchange);
  // Declaring an existing exchange again changes nothing, and needs the same right as before.
  if (found === null) await channel.request((raw) => raw.assertQueue(queue.name(), queue.declaration));
  await channel.request((raw) => raw.bindQueue(queue.name(), queue.exchange, '#'));
  return { channel, found, hadExchange: hadExchange !== null };
}

/** As Celery declares it (celery/events/event.py). */
async function declareExchange(channel: AmqpChannel, exchange: string): Promise<void> {
  try {
    await channel.request((raw) => raw.assertExchange(exchange, 'topic', { durable: true }));
  } catch (error) {
    if (describeAmqpError(error).code !== 'NOPERM') throw error;
    throw new AmqpError({
      code: 'NOEXCHANGE',
      sentence:
        'The exchange of events does not exist in this virtual host yet, and the RabbitMQ user may not create it. ' +
        'The first worker or client that sends events creates it.',
    });
  }
}

/** RabbitMQ ends the channel after a request for something that does not exist. @returns `null` for that */
async function exists<T>(session: AmqpSession, ask: (channel: AmqpChannel) => Promise<T>): Promise<T | null> {
  const channel = await session.channel();
  try {
    return await ask(channel);
  } catch (error) {
    if (describeAmqpError(error).code === 'NOTFOUND') return null;
    throw error;
  } finally {
    await channel.close();
  }
}
