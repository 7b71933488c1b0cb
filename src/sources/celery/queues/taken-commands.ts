/** Reads messages that workers have taken: a sorted set of tags by time, and a hash of messages by tag. */
import type { ReadOptions, RedisReader } from '../../../redis/reader.ts';
import type { QueueKeys } from './queue-keys.ts';

/** A tag and when it was taken, as Redis writes it. */
export type TakenTag = readonly [tag: string, score: string];

/** Tags from a score on, oldest first. */
export async function takenTags(
  reader: RedisReader,
  keys: QueueKeys,
  score: string,
  offset: number,
  limit: number,
  options?: ReadOptions,
): Promise<TakenTag[]> {
  const range = ['ZRANGEBYSCORE', keys.takenIndex, score, '+inf', 'WITHSCORES'];
  const reply = await reader.command([...range, 'LIMIT', String(offset), String(limit)], options);
  if (!Array.isArray(reply)) return [];
  const tags: TakenTag[] = [];
  for (let at = 0; at + 1 < reply.length; at += 2) tags.push([String(reply[at]), String(reply[at + 1])]);
  return tags;
}

/** The messages of these tags; `null` where there is none. */
export async function takenMessages(
  reader: RedisReader,
  keys: QueueKeys,
  tags: readonly TakenTag[],
  options?: ReadOptions,
): Promise<(string | null)[]> {
  if (tags.length === 0) return [];
  const reply = await reader.command(['HMGET', keys.taken, ...tags.map(([tag]) => tag)], options);
  return Array.isArray(reply) ? reply.map((item) => (typeof item === 'string' ? item : null)) : [];
}

/** A score as milliseconds since 1970; it is the worker's clock in seconds. */
export function takenTime(score: string): number | null {
  const seconds = Number(score);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}
