/** The queue that collects events for this instance, while it is connected and for some minutes when it is not. */
import { randomUUID } from 'node:crypto';
import { type AmqpChannel, hasExchange } from '../../../../amqp/channel.ts';
import type { QueueDeclaration } from '../../../../amqp/client.ts';
import type { AmqpSession } from '../../../../amqp/connection.ts';
import { AmqpError, describeAmqpError } from '../../../../amqp/problems.ts';
import { flag, group, type OptionTable, wholeNumber } from '../../../../check-options.ts';
import type { CelerySettings } from '../../settings.ts';
import { OWN_PREFIX } from './mailbox.ts';

/** Bounds of the queue of events on RabbitMQ. */
export interface EventQueueOptions {
  /**
   * Most messages that RabbitMQ keeps for this instance while it is disconnected or slow. When there are more, the
   * oldest are dropped and the feed says `gap`. A message has one to 24 events, of about 0.5 KB each.
   * 1,000 to 10,000,000, default 100,000.
   */
  readonly maxLength?: number;
  /**
   * Seconds after which RabbitMQ deletes the queue when the instance has not come back. 10 to 86,400, default 300.
   */
  readonly expires?: number;
  /**
   * Whether the queue ends with the connection. Nothing is ever left behind then, and events that are sent until the
   * next connection are lost. Default false.
   */
  readonly exclusive?: boolean;
}

/** {@link EventQueueOptions} with defaults. */
export type ResolvedEventQueue = Required<EventQueueOptions>;

const TABLE = {
  maxLength: wholeNumber({ least: 1_000, most: 10_000_000, fallback: 100_000 }),
  expires: wholeNumber({ least: 10, most: 86_400, fallback: 300 }),
  exclusive: flag(false),
} satisfies OptionTable<EventQueueOptions>;

/** The option `eventQueue`. */
export const eventQueueOption = group(TABLE, { example: '{ maxLength: 100_000 }' });

/** The queue as it is declared in RabbitMQ. */
export interface EventQueue {
  readonly exchange: string;
  /** The same for as long as this instance runs, unless the queue is exclusive. */
  name(): string;
  readonly maxLength: number;
  readonly isExclusive: boolean;
  readonly declaration: QueueDeclaration;
  /** To be called before each declaration. */
  nextSession(): void;
}

/** Chooses the name of the queue. */
export function eventQueueOf(
  settings: CelerySettings,
  { maxLength, expires, exclusive }: ResolvedEventQueue,
): EventQueue {
  const id = `${OWN_PREFIX}${randomUUID()}`;
  let sessions = 0;
  return {
    exchange: settings.event_exchange ?? 'celeryev',
    // RabbitMQ may not have noticed yet that the connection of the last one is gone.
    name: () => `${id}${exclusive ? `.${sessions}` : ''}.${settings.event_queue_prefix ?? 'celeryev'}`,
    maxLength,
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
    nextSession() {
      sessions += 1;
    },
  };
}

/** A channel with the declared queue. */
export interface OpenedQueue {
  readonly channel: AmqpChannel;
  /** Messages that waited in it. */
  readonly ready: number;
  /** Whether the exchange existed before; only workers and clients with events declare it, besides monitors. */
  readonly hadExchange: boolean;
}

/**
 * Declares the queue and binds it to the exchange of events.
 *
 * @throws AmqpError
 */
export async function openEventQueue(session: AmqpSession, queue: EventQueue): Promise<OpenedQueue> {
  queue.nextSession();
  const hadExchange = await hasExchange(session, queue.exchange);
  const channel = await session.channel();
  if (!hadExchange) await declareExchange(channel, queue.exchange);
  // One that exists already is found with its messages.
  const { messageCount: ready } = await channel.request((raw) =>
    raw.assertQueue(queue.name(), queue.declaration),
  );
  await channel.request((raw) => raw.bindQueue(queue.name(), queue.exchange, '#'));
  return { channel, ready, hadExchange };
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
