/** Sends several commands at once, some of which may be refused. */
import { describeError, type RedisProblem } from '../../../../../redis/problems.ts';
import type { RedisReader } from '../../../../../redis/reader.ts';

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
  let problem: RedisProblem | null = null;
  for (let at = 0; at < commands.length; at += BATCH) {
    const batch = commands.slice(at, at + BATCH);
    try {
      list.push(...(await reader.commands(batch)));
    } catch (error) {
      if (!isOfOneCommand(error)) throw error;
      for (const args of batch) {
        const { reply, refusal } = await askOne(reader, args);
        list.push(reply);
        problem = refusal ?? problem;
      }
    }
  }
  return { list, problem };
}

async function askOne(
  reader: RedisReader,
  args: readonly string[],
): Promise<{ reply: unknown; refusal: RedisProblem | null }> {
  try {
    return { reply: await reader.command(args), refusal: null };
  } catch (error) {
    if (!isOfOneCommand(error)) throw error;
    const problem = problemOf(error);
    return problem.code === 'WRONGTYPE'
      ? { reply: null, refusal: null }
      : { reply: REFUSED, refusal: problem };
  }
}

/** Whether the error concerns only one command of a batch. */
function isOfOneCommand(error: unknown): boolean {
  return ['WRONGTYPE', 'NOPERM'].includes(problemOf(error).code);
}
