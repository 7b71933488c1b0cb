import type { Reply } from '../source/combined-part.ts';

/** Fails with the first failure when no part has answered: then there is nothing to show. */
export function requireAnswer(replies: readonly Reply<unknown>[]): void {
  const [first] = replies;
  if (first !== undefined && 'error' in first && replies.every((reply) => 'error' in reply))
    throw first.error;
}

/** The answer of one part; `null` when it failed. */
export function answerOf<Raw>(reply: Reply<Raw> | undefined): Raw | null {
  return reply !== undefined && 'raw' in reply ? reply.raw : null;
}

/** Counts the items of a list. */
export function lengthOf(list: unknown): number {
  if (!Array.isArray(list)) throw new TypeError('The source must return an array.');
  return list.length;
}
