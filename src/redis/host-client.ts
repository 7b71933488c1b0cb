/** Recognizes the host's own clients by their structure. */
import type { RedisClient } from './client.ts';
import { ioredisClient, isIoredis } from './ioredis.ts';
import { type CeleryRedisClient, isNodeRedis, nodeRedisClient } from './node-redis.ts';

/**
 * Adapts a client of ioredis or node-redis, including one wrapped by BullMQ.
 *
 * @returns `null` for anything else
 */
export function hostClient(value: unknown): RedisClient | null {
  if (typeof value !== 'object' || value === null) return null;
  // BullMQ's wrapper of a client of node-redis.
  const { raw } = value as { raw?: unknown };
  if (isNodeRedis(raw)) return nodeRedisClient(raw);
  if (isIoredis(value)) return ioredisClient(value);
  return isNodeRedis(value) ? nodeRedisClient(value) : null;
}

/** Whether a value is a client of node-redis that can be duplicated and can subscribe. */
export function isDuplicable(value: unknown): value is CeleryRedisClient {
  const client = value as { duplicate?: unknown; pSubscribe?: unknown } | null;
  return (
    typeof client === 'object' &&
    client !== null &&
    typeof client.duplicate === 'function' &&
    typeof client.pSubscribe === 'function'
  );
}
