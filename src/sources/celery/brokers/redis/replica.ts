import { describeError, type RedisProblem, redisError } from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';

/**
 * Requests a sign of life, and whether Redis accepts writes: a master that was made a replica keeps its connections, so
 * nothing else shows it. Nothing is written. A user who may not send INFO gets only the sign of life.
 *
 * @returns what is wrong; a read-only replica has the code `READONLY`
 */
export async function checkWritable(
  reader: Pick<RedisReader, 'outcomes'>,
  signal: AbortSignal,
): Promise<RedisProblem | null> {
  try {
    const [ping, info] = await reader.outcomes([['PING'], ['INFO', 'replication']], { signal });
    return ping?.problem ?? (isReadOnlyReplica(info?.reply) ? redisError('READONLY').problem : null);
  } catch (error) {
    return describeError(error);
  }
}

/** @param info the section `replication` of INFO */
function isReadOnlyReplica(info: unknown): boolean {
  return typeof info === 'string' && /^role:slave\r?$/m.test(info) && !/^slave_read_only:0\r?$/m.test(info);
}
