import { ServerError } from '../../../server-problems.ts';
import type { Problem } from '../problem.ts';

/** Why remote control does not work at present. */
export interface ControlProblem extends Problem {
  /** The rights to give to the broker's user; `null` when something else is wrong. */
  readonly missingRights: string | null;
}

/** Thrown when a request could not be sent, or when its replies cannot be received. */
export class ControlFailure extends ServerError<ControlProblem> {
  override readonly name = 'ControlFailure';
}

/** The problem of anything that a mailbox has thrown. */
export function controlProblemOf(error: unknown): ControlProblem {
  if (error instanceof ControlFailure) return error.problem;
  return { code: 'UNKNOWN', sentence: 'Remote control has failed.', missingRights: null };
}
