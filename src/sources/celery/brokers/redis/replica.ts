/** Checks a Redis that is a broker. */
import { describeError, type RedisProblem, redisError } from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import { infoOf, type ServerInfo, versionOf } from '../../../../redis/server-info.ts';

/** Checks, and remembers which server answered. */
export interface RedisCheck {
  /**
   * Requests a sign of life, and whether Redis accepts writes: a master that was made a replica keeps its connections, so
   * nothing else shows it. Nothing is written. A user who may not send INFO gets only the sign of life.
   *
   * @returns what is wrong; a read-only replica has the code `READONLY`
   */
  check(signal: AbortSignal): Promise<RedisProblem | null>;
  /** See {@link versionOf}; `null` before the first check. */
  version(): string | null;
}

/** Asks nothing before the first check. */
export function createRedisCheck(reader: Pick<RedisReader, 'outcomes'>): RedisCheck {
  let version: string | null = null;
  return {
    async check(signal) {
      try {
        const commands = [['PING'], ['INFO', 'replication'], ['INFO', 'server']];
        const [ping, replication, server] = await reader.outcomes(commands, { signal });
        version = versionOf(infoOf(server?.reply)) ?? version;
        if (ping?.problem) return ping.problem;
        return isReadOnlyReplica(infoOf(replication?.reply)) ? redisError('READONLY').problem : null;
      } catch (error) {
        return describeError(error);
      }
    },
    version: () => version,
  };
}

function isReadOnlyReplica(info: ServerInfo): boolean {
  return info.get('role') === 'slave' && info.get('slave_read_only') !== '0';
}
