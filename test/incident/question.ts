import type { Facts } from './facts.ts';
import type { Visitor } from './visitor.ts';

/** A question. */
export interface Question {
  readonly text: string;
  /** File name of its screenshot. */
  readonly picture: string;
  /** Answers it, starting on the overview, and fails unless the answer is what has happened. */
  readonly answer: (visitor: Visitor, facts: Facts) => Promise<string>;
}
