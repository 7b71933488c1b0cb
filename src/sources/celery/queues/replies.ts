/** Asks Redis for several things at once, of which some may be refused. */

import { describeError, type RedisProblem } from '../../../redis/problems.ts';
import type { RedisReader } from '../../../redis/reader.ts';

/** Commands sent in one write. */
const BATCH = 200;

/** What is wrong, whatever was thrown. */
export function problemOf(error: unknown): RedisProblem {
  return describeError(error);
}

/** What the Redis user may not ask. */
export const REFUSED = Symbol('refused');

/** Replies in the order of the commands; `null` for a key that is of another type. */
export interface Replies {
  readonly list: readonly unknown[];
  /** Why one is {@link REFUSED}. */
  readonly problem: RedisProblem | null;
}

/**
 * Sends commands in writes of bounded size.
 *
 * @throws RedisError when Redis is away or late
 */
export async function ask(reader: RedisReader, commands: readonly (readonly string[])[]): Promise<Replies> {
  const list: unknown[] = [];
  let problem: RedisProblem | null = null;

  async function askOne(args: readonly string[]): Promise<unknown> {
    try {
      return await reader.command(args);
    } catch (error) {
      const { code } = problemOf(error);
      if (code === 'WRONGTYPE') return null;
      if (code !== 'NOPERM') throw error;
      problem = problemOf(error);
      return REFUSED;
    }
  }

  for (let at = 0; at < commands.length; at += BATCH) {
    const batch = commands.slice(at, at + BATCH);
    try {
      list.push(...(await reader.commands(batch)));
    } catch (error) {
      if (!['WRONGTYPE', 'NOPERM'].includes(problemOf(error).code)) throw error;
      // One that is refused says nothing of the others.
      for (const args of batch) list.push(await askOne(args));
    }
  }
  return { list, problem };
}

/** The elements of a list, as texts; none for anything else. */
export function texts(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.filter((item) => typeof item === 'string') : [];
}

/** The number in a reply; 0 for anything else. */
export function count(reply: unknown): number {
  const value = typeof reply === 'number' || typeof reply === 'string' ? Number(reply) : 0;
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}
