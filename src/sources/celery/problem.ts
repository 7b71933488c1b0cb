import type { ServerProblem } from '../../server-problems.ts';

/** A problem of a broker or a result backend. */
export interface Problem extends ServerProblem {
  /**
   * The rights to give to the user, in the words of the server (for Redis, rules of `ACL SETUSER`);
   * `null` or absent when something else is wrong.
   */
  readonly missingRights?: string | null;
}

/**
 * The problem that an error of a broker or a result backend carries in its `problem`.
 *
 * @returns a problem with the code `UNKNOWN` for any other error
 */
export function problemOf(error: unknown): Problem {
  const problem = (error as { readonly problem?: Partial<Problem> } | null | undefined)?.problem;
  return typeof problem?.code === 'string' && typeof problem.sentence === 'string'
    ? (problem as Problem)
    : { code: 'UNKNOWN', sentence: 'An unexpected error occurred.' };
}
