import { type Connection, createConnection } from '../../../../redis/connection.ts';
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import type { RedisListener } from '../../../../redis/node-redis.ts';
import type { ConnectionState } from '../../connection-state.ts';
import type { PublishedHandlers, PublishedResults } from '../../result-backend.ts';
import type { CelerySettings } from '../../settings.ts';
import { groupSubscription, resultSubscription } from './result-channels.ts';

const NOT_STARTED: ConnectionState = { up: false, asOf: null, since: null, reconnects: 0, problem: null };
/** A chord stores and publishes the number of its header tasks under the key of its group with this ending. */
const SIZE_ENDING = '.s';

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

  function connect(handlers: PublishedHandlers): Connection {
    return createConnection({
      label: 'result backend',
      open: (signal) => endpoint.open(signal),
      async prepare(client, heard) {
        const onResult: RedisListener = (message, channel) => {
          heard();
          handlers.task(message, channel.slice(results.prefix.length));
        };
        const onGroup: RedisListener = (message, channel) => {
          heard();
          takeGroup(handlers, message, channel.slice(groups.prefix.length));
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
    state: () => connection?.state() ?? NOT_STARTED,
    channels: [results.name, groups.name],
    close: async () => await connection?.close(),
  };
}

function takeGroup(handlers: PublishedHandlers, message: string, key: string): void {
  if (key.endsWith(SIZE_ENDING)) handlers.chordSize(key.slice(0, -SIZE_ENDING.length), Number(message));
  else handlers.group(message, key);
}
