import type { AmqpMessage } from '../../../../amqp/client.ts';
import { type AmqpConnection, createAmqpConnection } from '../../../../amqp/connection.ts';
import type { AmqpEndpoint } from '../../../../amqp/endpoint.ts';
import { AmqpError, amqpError } from '../../../../amqp/problems.ts';
import type { AmqpSession } from '../../../../amqp/session.ts';
import type { Steps } from '../../../../scheduler.ts';
import type { BrokerEvents, EventHandlers } from '../../broker.ts';
import { createMessageQueue, type MessageQueue } from '../../message-queue.ts';
import type { CelerySettings } from '../../settings.ts';
import { type Acknowledgements, createAcknowledgements } from './acknowledgements.ts';
import { type Continuity, createContinuity } from './continuity.ts';
import { takeMessage } from './event-message.ts';
import {
  type Declared,
  type EventQueue,
  eventQueueOf,
  type OpenedQueue,
  openEventQueue,
} from './event-queue.ts';
import type { ResolvedEventQueue } from './event-queue-options.ts';

/** Messages that RabbitMQ delivers without acknowledgement: no more are ever held in memory. */
const PREFETCH = 500;

/**
 * How long messages of a lost connection may still be outstanding, in milliseconds: RabbitMQ notices its end after
 * two missing heartbeats, which are at most a minute apart.
 */
const LONGEST_OVERLAP_MS = 150_000;

/** How often the last message is delivered again, in milliseconds. RabbitMQ ends a consumer that keeps one for long. */
const RENEW_MS = 4 * 60_000;

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

/** Parameters of listening. */
export interface AmqpEventsOptions {
  readonly endpoint: AmqpEndpoint;
  readonly settings: CelerySettings;
  readonly queue: ResolvedEventQueue;
  /** Whether to begin with any of several hosts. */
  readonly shuffle: boolean;
}

/** A message with the acknowledgements of the channel that delivered it. */
interface Delivery {
  readonly message: AmqpMessage;
  readonly acknowledgements: Acknowledgements;
  /** Whether it was taken before, and is only to be acknowledged. */
  readonly isRepeated: boolean;
}

interface State {
  readonly queue: EventQueue & Declared;
  readonly connection: AmqpConnection;
  handlers: EventHandlers | null;
  waiting: MessageQueue<Delivery> | null;
  continuity: Continuity | null;
  opened: OpenedQueue | null;
  acknowledgements: Acknowledgements | null;
  /** Whether messages are known to be missing since the last connection. */
  isMissing: boolean;
  /** Whether a connection was ready before. */
  wasUp: boolean;
  hadExchange: boolean | null;
  /** Messages that waited in RabbitMQ when it was last asked. */
  ready: number;
  /** When the queue was last reported to be full, in monotonic milliseconds; `null` while it is not. */
  fullSince: number | null;
  /** When the last message was received or renewed, in monotonic milliseconds. */
  lastMessage: number;
  /** When the present connection began, in monotonic milliseconds. */
  since: number;
}

/** Receives Celery's events from a queue that RabbitMQ keeps while this instance is disconnected. */
export function createAmqpEvents({ endpoint, settings, queue, shuffle }: AmqpEventsOptions): AmqpEvents {
  const state: State = {
    queue: eventQueueOf(settings, queue),
    connection: createAmqpConnection({
      label: 'broker',
      endpoint,
      shuffle,
      isPaced: true,
      prepare: (session) => consume(state, session),
      probe: () => probe(state),
      onUp: () => noteUp(state),
      onDown: (asOf) => state.handlers?.down(asOf),
    }),
    handlers: null,
    waiting: null,
    continuity: null,
    opened: null,
    acknowledgements: null,
    isMissing: false,
    wasUp: false,
    hadExchange: null,
    ready: 0,
    fullSince: null,
    lastMessage: 0,
    since: 0,
  };
  const { connection } = state;
  return {
    queue: state.queue,
    channels: [state.queue.exchange],
    start(handlers) {
      state.handlers = handlers;
      state.waiting = createMessageQueue<Delivery>({
        kind: 'events',
        sizeOf: ({ message }) => message.content.length,
        take: (delivery) => takeDelivery(delivery, handlers),
        lost: handlers.lost,
      });
      state.continuity = createContinuity(PREFETCH, handlers.gap);
      connection.start();
    },
    state: connection.state,
    isBehind: () => state.ready > 0 || state.waiting?.isBehind() === true,
    hadExchange: () => state.hadExchange,
    url: connection.url,
    version: connection.version,
    async close() {
      state.acknowledgements?.stop();
      state.waiting?.close();
      await deleteQueue(state);
      await connection.close();
    },
  };
}

async function consume(state: State, session: AmqpSession): Promise<void> {
  const { queue, continuity, waiting } = state;
  state.acknowledgements?.stop();
  const opened = await openEventQueue(session, queue);
  const { channel, found } = opened;
  void channel.ended.then((problem) => session.fail(new AmqpError(problem)));
  const acknowledgements = createAcknowledgements(channel);
  state.opened = opened;
  state.acknowledgements = acknowledgements;
  state.hadExchange ??= opened.hadExchange;
  state.ready = found?.messageCount ?? 0;
  const isMissing =
    continuity?.resume(
      found === null ? null : { ready: found.messageCount, consumers: found.consumerCount },
    ) === true;
  state.isMissing = state.isMissing || isMissing;
  await channel.request((raw) => raw.prefetch(PREFETCH));
  await channel.request((raw) =>
    raw.consume(queue.name(), (message) => {
      // The queue was deleted, or moved to another node.
      if (message === null) return session.fail(amqpError('CANCELLED'));
      state.lastMessage = performance.now();
      const isRepeated = continuity?.receive(message) === true;
      waiting?.push({ message, acknowledgements, isRepeated });
    }),
  );
}

function noteUp(state: State): void {
  const { isMissing, wasUp } = state;
  state.isMissing = false;
  state.wasUp = true;
  state.since = performance.now();
  state.handlers?.up(wasUp && isMissing);
}

/** @returns steps for a long message; a short one has been delivered */
function takeDelivery(delivery: Delivery, handlers: EventHandlers): Steps<void> | null {
  const { message, acknowledgements, isRepeated } = delivery;
  const steps = isRepeated ? null : takeMessage(message, handlers);
  if (steps !== null) return takeSteps(steps, message, acknowledgements);
  acknowledgements.taken(message.fields.deliveryTag);
  return null;
}

function* takeSteps(
  steps: Steps<void>,
  { fields }: AmqpMessage,
  acknowledgements: Acknowledgements,
): Steps<void> {
  yield* steps;
  acknowledgements.taken(fields.deliveryTag);
}

/** Asks how many messages wait. The reply is the sign of life, too. */
async function probe(state: State): Promise<void> {
  const { opened, queue, continuity } = state;
  if (opened === null) return;
  // The code that requests the sign of life notices silence.
  const asking = opened.channel.request((raw) => raw.checkQueue(queue.name()), { timeoutMs: 60_000 });
  const { messageCount } = await asking;
  state.ready = messageCount;
  const now = performance.now();
  noteFull(state, now);
  if (continuity?.isWaiting() === true && now - state.since > LONGEST_OVERLAP_MS) continuity.giveUp();
  if (messageCount === 0 && now - state.lastMessage > RENEW_MS) {
    state.lastMessage = now;
    state.acknowledgements?.renew();
  }
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
async function deleteQueue({ opened, queue }: State): Promise<void> {
  if (opened === null || queue.isExclusive) return;
  await opened.channel
    .request((raw) => raw.deleteQueue(queue.name()), { timeoutMs: DELETE_MS })
    .catch(() => {});
}
