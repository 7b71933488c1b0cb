/** What rules judge by. */
import type { ConnectionState } from '../../../redis/connection.ts';
import type { Facts, HintOptions } from './facts.ts';
import type { Findings } from './findings.ts';

/** Everything that is known at one moment. */
export interface HintInput {
  readonly options: HintOptions;
  readonly facts: Facts;
  /** What was found by looking elsewhere, because nothing came. */
  readonly findings: Findings;
  /** The connection that events come over; `null` without one. */
  readonly broker: ConnectionState | null;
  /** The one that results come over, perhaps the same; `null` without one. */
  readonly backend: ConnectionState | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** How long a connection has been up, in milliseconds; below 0 while it is not. */
export function upFor(state: ConnectionState | null, now: number): number {
  return state?.up === true && state.since !== null ? now - state.since : -1;
}

/** Results that came in any way, readable or not. */
export function resultsSeen({ results, unreadable }: Facts): number {
  return results.heard + results.storedNamed + results.storedNameless + unreadable.result.count;
}
