/** Clients of our own, for URLs: of node-redis for commands, and the subscriber for subscriptions. */
import {
  type CeleryRedisConnection,
  CONNECT_TIMEOUT,
  createOwnClient,
  nodeTls,
  type OpenClient,
} from './node-redis.ts';
import { createSubscriber } from './subscriber.ts';
import type { RedisAddress } from './urls.ts';

/** Opens clients of our own. */
export function clientsOf(address: RedisAddress): OpenClient {
  return async (signal, use) => ({
    client:
      use === 'subscriptions' ? createOwnSubscriber(address, signal) : await createOwnClient(address, signal),
  });
}

/** Makes a client for subscriptions. It never reconnects by itself either. */
export function createOwnSubscriber(
  { socket, tls, ...login }: RedisAddress,
  signal: AbortSignal,
): CeleryRedisConnection {
  const address = { ...socket, ...(tls === null ? {} : nodeTls(tls)), signal };
  return createSubscriber({ address, tls: tls !== null, timeoutMs: CONNECT_TIMEOUT }, login);
}
