import { NOT_CONNECTED } from '../../../../kept-connection.ts';
import { type Connection, createConnection } from '../../../../redis/connection.ts';
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import type { RedisListener } from '../../../../redis/node-redis.ts';
import { createMessageQueue, type MessageQueue } from '../../message-queue.ts';
import type { PublishedHandlers, PublishedResults } from '../../result-backend.ts';
import type { CelerySettings } from '../../settings.ts';
import { groupSubscription, resultSubscription } from './result-keys.ts';

/** A published value, and the end of its key: the id of a task or of a group. */
interface Published {
  readonly value: string;
  readonly key: string;
  readonly isGroup: boolean;
}

/**
 * Celery publishes each result that it stores, on a channel named like the key. The subscription has its own
 * connection even if the broker is the same server, because the Redis user may be allowed to subscribe to only
 * one of both.
 */
export function createPublishedResults(
  endpoint: RedisEndpoint,
  settings: CelerySettings,
): PublishedResults & { close(): Promise<void> } {
  const results = resultSubscription(settings);
  const groups = groupSubscription(settings);
  let connection: Connection | null = null;
  let queue: MessageQueue<Published> | null = null;

  function connect(handlers: PublishedHandlers): Connection {
    const messages = createMessageQueue<Published>({
      kind: 'results',
      sizeOf: ({ value }) => value.length,
      take({ value, key, isGroup }) {
        // Chords publish the number of their header tasks beside their groups: it is no group, and nothing is read of it.
        if (isGroup) handlers.group(value, key);
        else handlers.task(value, key);
        return null;
      },
      lost: handlers.lost,
    });
    queue = messages;
    return createConnection({
      label: 'result backend',
      open: (signal) => endpoint.open(signal),
      async prepare(client, heard) {
        const onResult: RedisListener = (message, channel) => {
          heard();
          messages.push({ value: message, key: channel.slice(results.prefix.length), isGroup: false });
        };
        const onGroup: RedisListener = (message, channel) => {
          heard();
          messages.push({ value: message, key: channel.slice(groups.prefix.length), isGroup: true });
        };
        await client.pSubscribe([results.name], onResult);
        // A user without permission for groups still receives results.
        await client.pSubscribe([groups.name], onGroup).catch(() => {});
      },
      onUp: handlers.up,
    });
  }

  return {
    start(handlers) {
      connection ??= connect(handlers);
    },
    state: () => connection?.state() ?? NOT_CONNECTED,
    channels: [results.name, groups.name],
    async close() {
      queue?.close();
      await connection?.close();
    },
  };
}
