import { NOT_CONNECTED } from '../kept-connection.ts';
import type { ClientEvents } from './client.ts';
import { type ClientSupply, createReader } from './command-reader.ts';
import { type Connection, createConnection } from './connection.ts';
import type { RedisEndpoint } from './endpoint.ts';
import { type CeleryRedisConnection, nodeRedisClient } from './node-redis.ts';
import type { RedisReader } from './reader.ts';

/** A reader over a connection of its own, opened at the first command and kept open from then on. */
export function createRedisReader(label: string, endpoint: RedisEndpoint): RedisReader {
  return createReader(keptUp(label, endpoint), {
    capacity: 1_000,
    queued: 0,
    timeoutMs: 5_000,
    perWrite: Number.POSITIVE_INFINITY,
  });
}

/** @param label for the log */
function keptUp(label: string, endpoint: RedisEndpoint): ClientSupply {
  let connection: Connection | null = null;
  return {
    async acquire() {
      connection ??= createConnection({ label, open: (signal) => endpoint.open(signal, 'commands') });
      // Clients of node-redis are emitters with `off`, which the public type leaves out.
      return nodeRedisClient((await connection.opened()) as CeleryRedisConnection & ClientEvents);
    },
    // The session ends a client that is lost or silent, which rejects its commands.
    untilLost: (promise) => promise,
    answered() {},
    failed() {},
    state: () => connection?.state() ?? NOT_CONNECTED,
    address: () => endpoint.url,
    close: async () => connection?.close(),
  };
}
