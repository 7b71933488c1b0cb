/** Receives Celery's events from a queue that RabbitMQ keeps while this instance is disconnected. */
import { randomUUID } from 'node:crypto';
import type { AmqpEndpoint } from '../../../../amqp/amqplib.ts';
import { type AmqpChannel, type AmqpMessage, hasExchange } from '../../../../amqp/channel.ts';
import { type AmqpConnection, type AmqpSession, createAmqpConnection } from '../../../../amqp/connection.ts';
import { AmqpError, amqpError, describeAmqpError } from '../../../../amqp/problems.ts';
import { flag, group, type OptionTable, wholeNumber } from '../../../../check-options.ts';
import type { Steps } from '../../../../scheduler.ts';
import type { BrokerEvents, EventHandlers } from '../../broker.ts';
import { createMessageQueue, type MessageQueue } from '../../message-queue.ts';
import { LONGEST_BODY, parseBody, parseInSteps } from '../../protocol/events.ts';
import type { CelerySettings } from '../../settings.ts';
import { OWN_PREFIX } from './mailbox.ts';

/** Messages that RabbitMQ delivers without acknowledgement: no more are ever held in memory. */
const PREFETCH = 500;
/** How many messages are acknowledged together at most, and after how many milliseconds at the latest. */
const MOST_TOGETHER = 200;
const ACKNOWLEDGED_MS = 250;
/** A message of more bytes is parsed in steps: some hundred events. */
const LONG_MESSAGE = 64 * 1024;
/** How often a queue that stays full is reported, in milliseconds. */
const FULL_AGAIN_MS = 60_000;
/** How long `close` tries to delete the queue, in milliseconds. */
const DELETE_MS = 1_000;

/** Events over AMQP, with data that only the broker needs. */
export interface AmqpEvents extends BrokerEvents {
  readonly queue: EventQueue;
  /** Whether a process other than a monitor had declared the exchange of events; `null` before the first connection. */
  hadExchange(): boolean | null;
  /** Of the host that was last tried, without user, password and query. */
  url(): string | null;
  /** Such as `3.10.8`; `null` while it is not known. */
  version(): string | null;
  /** Deletes the queue and ends the connection. */
  close(): Promise<void>;
}

/** The channel over which messages come, and how far they are acknowledged. */
interface Consumer {
  readonly channel: AmqpChannel;
  /** Delivery tags: messages are taken in their order. */
  taken: number;
  acknowledged: number;
  timer: NodeJS.Timeout | null;
}

interface Delivery {
  readonly message: AmqpMessage;
  readonly consumer: Consumer;
}

interface State {
  readonly queue: EventQueue;
  readonly connection: AmqpConnection;
  handlers: EventHandlers | null;
  waiting: MessageQueue<Delivery> | null;
  /** Of the last connection; `null` before the first. */
  consumer: Consumer | null;
  hadExchange: boolean | null;
  /** Messages that waited in RabbitMQ when it was last asked. */
  ready: number;
  /** When the queue was last reported to be full, in monotonic milliseconds; `null` while it is not. */
  fullSince: number | null;
}

/** @param shuffle whether to begin with any of several hosts */
export function createAmqpEvents(endpoint: AmqpEndpoint, queue: EventQueue, shuffle: boolean): AmqpEvents {
  const state: State = {
    queue,
    connection: createAmqpConnection({
      label: 'broker',
      endpoint,
      shuffle,
      isPaced: true,
      prepare: (session) => consume(state, session),
      probe: () => probe(state),
      // After a reconnect, what was delivered and not acknowledged arrives again, and the history knows it. Whether
      // anything is missing is unknown: RabbitMQ may have been restarted, and the queue may have expired or overflowed.
      onUp: (again) => state.handlers?.up(again),
      onDown: (asOf) => state.handlers?.down(asOf),
    }),
    handlers: null,
    waiting: null,
    consumer: null,
    hadExchange: null,
    ready: 0,
    fullSince: null,
  };
  const { connection } = state;
  return {
    queue,
    channels: [queue.exchange],
    start(handlers) {
      state.handlers = handlers;
      state.waiting = createMessageQueue<Delivery>({
        kind: 'events',
        sizeOf: ({ message }) => message.content.length,
        take: (delivery) => take(delivery, handlers),
        lost: handlers.lost,
      });
      connection.start();
    },
    state: connection.state,
    isBehind: () => state.ready > 0 || state.waiting?.isBehind() === true,
    hadExchange: () => state.hadExchange,
    url: connection.url,
    version: connection.version,
    async close() {
      if (state.consumer !== null) stopTimer(state.consumer);
      state.waiting?.close();
      await deleteQueue(state);
      await connection.close();
    },
  };
}

async function consume(state: State, session: AmqpSession): Promise<void> {
  const { queue, waiting } = state;
  if (state.consumer !== null) stopTimer(state.consumer);
  const { channel, ready, hadExchange } = await openEventQueue(session, queue);
  void channel.ended.then((problem) => session.fail(new AmqpError(problem)));
  const consumer: Consumer = { channel, taken: 0, acknowledged: 0, timer: null };
  state.consumer = consumer;
  state.hadExchange ??= hadExchange;
  state.ready = ready;
  await channel.request((raw) => raw.prefetch(PREFETCH));
  await channel.request((raw) =>
    raw.consume(queue.name(), (message) => {
      // The queue was deleted, or moved to another node.
      if (message === null) session.fail(amqpError('CANCELLED'));
      else waiting?.push({ message, consumer });
    }),
  );
}

/** @returns steps for a long message; a short one has been delivered */
function take({ message, consumer }: Delivery, handlers: EventHandlers): Steps<void> | null {
  const { content, properties, fields } = message;
  const isReadable = isJson(properties) && content.length <= LONGEST_BODY;
  if (isReadable && content.length > LONG_MESSAGE) return takeInSteps({ message, consumer }, handlers);
  if (isReadable) deliver(parseBody(content.toString('utf8')), handlers);
  else handlers.unreadable(contentTypeOf(properties));
  acknowledge(consumer, fields.deliveryTag);
  return null;
}

function* takeInSteps({ message, consumer }: Delivery, handlers: EventHandlers): Steps<void> {
  yield;
  let isContinued = false;
  yield* parseInSteps(message.content.toString('utf8'), (body) => {
    deliver(body, handlers, isContinued);
    isContinued = true;
  });
  acknowledge(consumer, message.fields.deliveryTag);
}

function deliver(body: unknown, handlers: EventHandlers, isContinued = false): void {
  if (body === undefined) handlers.unreadable('application/json');
  else handlers.message(body, isContinued);
}

/** kombu compresses bodies if `event_serializer` or a signal of the app requires it. */
function isJson({ contentType, headers }: AmqpMessage['properties']): boolean {
  return contentType === 'application/json' && typeof headers?.compression !== 'string';
}

function contentTypeOf({ contentType }: AmqpMessage['properties']): string | null {
  return typeof contentType === 'string' ? contentType.slice(0, 100) : null;
}

/** Acknowledges a message and all before it, together with those that follow soon. */
function acknowledge(consumer: Consumer, deliveryTag: number): void {
  consumer.taken = deliveryTag;
  if (deliveryTag - consumer.acknowledged >= MOST_TOGETHER) send(consumer);
  else consumer.timer ??= setTimeout(send, ACKNOWLEDGED_MS, consumer).unref();
}

function send(consumer: Consumer): void {
  stopTimer(consumer);
  const { channel, taken } = consumer;
  consumer.acknowledged = taken;
  channel.send((raw) => raw.ack({ fields: { deliveryTag: taken } }, true));
}

function stopTimer(consumer: Consumer): void {
  if (consumer.timer !== null) clearTimeout(consumer.timer);
  consumer.timer = null;
}

/** Asks how many messages wait. The reply is the sign of life, too. */
async function probe(state: State): Promise<void> {
  const { consumer, queue } = state;
  if (consumer === null) return;
  // The code that requests the sign of life notices silence.
  const asking = consumer.channel.request((raw) => raw.checkQueue(queue.name()), { timeoutMs: 60_000 });
  const { messageCount } = await asking;
  state.ready = messageCount;
  noteFull(state, performance.now());
}

/**
 * A full queue drops messages. How many is not known, nor when it stops: a gap is reported when the queue is found
 * full, while it stays full, and when it no longer is.
 */
function noteFull(state: State, now: number): void {
  const { ready, queue, fullSince, handlers } = state;
  const isFull = ready >= queue.maxLength;
  if (!isFull && fullSince === null) return;
  if (isFull && fullSince !== null && now - fullSince < FULL_AGAIN_MS) return;
  state.fullSince = isFull ? now : null;
  handlers?.gap();
}

/** Where this fails, RabbitMQ deletes the queue when it expires. */
async function deleteQueue({ consumer, queue }: State): Promise<void> {
  if (consumer === null || queue.isExclusive) return;
  await consumer.channel
    .request((raw) => raw.deleteQueue(queue.name()), { timeoutMs: DELETE_MS })
    .catch(() => {});
}

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

/** The queue that collects events for this instance, as it is declared in RabbitMQ. */
type EventQueue = ReturnType<typeof eventQueueOf>;

/** Chooses the name of the queue. */
export function eventQueueOf(
  settings: CelerySettings,
  { maxLength, expires, exclusive }: ResolvedEventQueue,
) {
  const id = `${OWN_PREFIX}${randomUUID()}`;
  let sessions = 0;
  return {
    exchange: settings.event_exchange ?? 'celeryev',
    // RabbitMQ may not have noticed yet that the connection of the last one is gone.
    /** The same for as long as this instance runs, unless the queue is exclusive. */
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
    /** To be called before each declaration. */
    nextSession() {
      sessions += 1;
    },
  };
}

/**
 * Declares the queue and binds it to the exchange of events.
 *
 * @throws AmqpError
 */
async function openEventQueue(
  session: AmqpSession,
  queue: EventQueue,
): Promise<{
  readonly channel: AmqpChannel;
  /** Messages that waited in it. */
  readonly ready: number;
  /** Whether the exchange existed before; only workers and clients with events declare it, besides monitors. */
  readonly hadExchange: boolean;
}> {
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
