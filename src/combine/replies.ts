import type { Reply } from '../source/combined-part.ts';

/** Throws the first error when all parts have failed. */
export function requireAnswer(replies: readonly Reply<unknown>[]): void {
  const [first] = replies;
  if (first !== undefined && 'error' in first && replies.every((reply) => 'error' in reply))
    throw first.error;
}

/** The data of one part; `null` when it failed. */
export function answerOf<Raw>(reply: Reply<Raw> | undefined): Raw | null {
  return reply !== undefined && 'raw' in reply ? reply.raw : null;
}

/** Counts the items of a list. */
export function lengthOf(list: unknown): number {
  if (!Array.isArray(list)) throw new TypeError('The source must return an array.');
  return list.length;
}
