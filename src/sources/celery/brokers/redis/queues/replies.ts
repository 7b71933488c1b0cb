/** Sends several commands at once, some of which may be refused. */
import { describeError, type RedisProblem } from '../../../../../redis/problems.ts';
import type { RedisReader } from '../../../../../redis/reader.ts';
import { replyOfKey } from '../../../../../redis/replies.ts';

/** Commands per write. */
const BATCH = 200;

/** The reply to a command that the Redis user may not send. */
export const REFUSED = Symbol('refused');

/** Replies in the order of the commands; `null` for a key of another type. */
export interface Replies {
  readonly list: readonly unknown[];
  /** Why a reply is {@link REFUSED}. */
  readonly problem: RedisProblem | null;
}

/** The problem of anything thrown. */
export function problemOf(error: unknown): RedisProblem {
  return describeError(error);
}

/**
 * Sends commands in writes of bounded size.
 *
 * @throws RedisError when Redis is unreachable or late
 */
export async function askAll(
  reader: RedisReader,
  commands: readonly (readonly string[])[],
): Promise<Replies> {
  const list: unknown[] = [];
  let refusal: RedisProblem | null = null;
  for (let at = 0; at < commands.length; at += BATCH) {
    for (const outcome of await reader.outcomes(commands.slice(at, at + BATCH))) {
      const isRefused = outcome.problem?.code === 'NOPERM';
      if (isRefused) refusal = outcome.problem;
      list.push(isRefused ? REFUSED : replyOfKey(outcome));
    }
  }
  return { list, problem: refusal };
}
