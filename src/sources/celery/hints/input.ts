/** The input of the rules for hints. */
import type { ConnectionState } from '../connection-state.ts';
import type { Hint } from '../hint.ts';
import type { AccessProblems, Facts, HintOptions } from './facts.ts';

/** Everything that is known at one moment. */
export interface HintInput {
  readonly options: HintOptions;
  readonly facts: Facts;
  readonly problems: AccessProblems;
  /** The findings of the diagnosis. */
  readonly found: readonly Hint[];
  /** The connection over which events arrive; `null` without one. */
  readonly broker: ConnectionState | null;
  /** The connection over which results arrive; `null` without one. */
  readonly backend: ConnectionState | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** How long a connection has been up, in milliseconds; negative while it is down. */
export function upFor(state: ConnectionState | null, now: number): number {
  return state?.up === true && state.since !== null ? now - state.since : -1;
}

/** Results that arrived or were read, readable or not. */
export function resultsSeen({ results, unreadable }: Facts): number {
  return results.heard + results.storedNamed + results.storedNameless + unreadable.result.count;
}
