import { NOT_CONNECTED } from '../../../../kept-connection.ts';
import type { Subscription } from '../../../../redis/acl.ts';
import { type Connection, createConnection } from '../../../../redis/connection.ts';
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import type { CeleryRedisConnection, RedisListener } from '../../../../redis/node-redis.ts';
import type { Steps } from '../../../../scheduler.ts';
import type { BrokerEvents, EventHandlers } from '../../broker.ts';
import { createMessageQueue, type MessageQueue } from '../../message-queue.ts';
import type { CelerySettings } from '../../settings.ts';
import { eventSubscriptions } from './channels.ts';
import { contentTypeOf, decodeEnvelope, decodeInSteps } from './envelope.ts';

/** A message of more characters is decoded in steps: some hundred events. */
const LONG_MESSAGE = 64 * 1024;

/** Events over Redis, with data that only the broker needs. */
export interface RedisEvents extends BrokerEvents {
  close(): Promise<void>;
}

/** Receives Celery's events, which are published in Redis. A disconnected subscriber misses them. */
export function createRedisEvents(endpoint: RedisEndpoint, settings: CelerySettings): RedisEvents {
  const subscriptions = eventSubscriptions(settings, endpoint.database);
  let connection: Connection | null = null;
  let queue: MessageQueue<string> | null = null;
  return {
    channels: subscriptions.map(({ name }) => name),
    start(handlers) {
      const messages = createMessageQueue<string>({
        kind: 'events',
        sizeOf: ({ length }) => length,
        take: (message) => takeMessage(message, handlers),
        lost: handlers.lost,
      });
      queue ??= messages;
      connection ??= createConnection({
        label: 'broker',
        open: (signal) => endpoint.open(signal),
        prepare: (client, heard) =>
          subscribe(client, subscriptions, (message) => {
            heard();
            messages.push(message);
          }),
        onUp: handlers.up,
        onDown: handlers.down,
      });
    },
    state: () => connection?.state() ?? NOT_CONNECTED,
    isBehind: () => queue?.isBehind() ?? false,
    async close() {
      queue?.close();
      await connection?.close();
    },
  };
}

/** @returns steps for a long message; a short one has been delivered */
function takeMessage(message: string, handlers: EventHandlers): Steps<void> | null {
  if (message.length > LONG_MESSAGE) return deliverInSteps(message, handlers);
  deliverMessage(message, handlers);
  return null;
}

function* deliverInSteps(message: string, handlers: EventHandlers): Steps<void> {
  let isContinued = false;
  yield* decodeInSteps(message, (body) => {
    if (body === undefined) handlers.unreadable(contentTypeOf(message));
    else handlers.message(body, isContinued);
    isContinued = true;
  });
}

/** Unwraps one publication. */
export function deliverMessage(
  message: string,
  handlers: Pick<EventHandlers, 'message' | 'unreadable'>,
): void {
  const body = decodeEnvelope(message);
  if (body === undefined) handlers.unreadable(contentTypeOf(message));
  else handlers.message(body);
}

/** Subscribes to patterns with PSUBSCRIBE and to channels with SUBSCRIBE. */
async function subscribe(
  client: CeleryRedisConnection,
  subscriptions: readonly Subscription[],
  listener: RedisListener,
): Promise<void> {
  const namesOf = (kind: Subscription['kind']): string[] =>
    subscriptions.filter((subscription) => subscription.kind === kind).map(({ name }) => name);
  const patterns = namesOf('pattern');
  const channels = namesOf('channel');
  if (patterns.length > 0) await client.pSubscribe(patterns, listener);
  if (channels.length > 0) await client.subscribe(channels, listener);
}
