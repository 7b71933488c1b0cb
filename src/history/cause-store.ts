/** Failures by cause, as summed up by a store. Times are milliseconds since 1970. */
import type { TaskCause } from '../model.ts';
import type { RollupSteps } from './rollup-store.ts';

/** A cause, and when tasks failed because of it. */
export interface StoredCause extends TaskCause {
  /** The first recorded failure, even if its task was dropped or has succeeded since. */
  readonly firstSeen: number;
  /** The last recorded failure: not every failure is recorded. */
  readonly lastSeen: number;
}

/** Which failures to add up. */
export interface FailureQuery {
  /** Inclusive. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Any of them; empty: all. */
  readonly names: readonly string[];
  readonly queues: readonly string[];
  readonly workers: readonly string[];
}

/** How many tasks failed because of a cause. */
export interface CauseCount {
  readonly cause: string;
  readonly count: number;
}

/** Failures of one cause with one name on one worker. */
export interface CausePart extends CauseCount {
  /** `null`: unknown. */
  readonly name: string | null;
  readonly worker: string | null;
  /** When the last of them failed. */
  readonly last: number;
  /** The id of that task. */
  readonly sample: string;
}

/** Failures of one cause in one step. */
export interface CauseStep extends CauseCount {
  /** 0 for the first. */
  readonly step: number;
}

/**
 * The causes of failures. The stored tasks are summed up as they are: a task that succeeds later, or is dropped, no longer
 * counts.
 */
export interface CauseStore {
  /** Keeps the texts of causes, and the earlier first and the later last time. */
  note(causes: readonly StoredCause[]): Promise<void>;
  /** @returns those of the causes that were noted, in no order */
  describe(ids: readonly string[]): Promise<readonly StoredCause[]>;
  /** @returns the most frequent causes, `most` at most */
  counts(query: FailureQuery, most: number): Promise<readonly CauseCount[]>;
  /** @returns failures of these causes by name and worker, `most` at most */
  parts(query: FailureQuery, causes: readonly string[], most: number): Promise<readonly CausePart[]>;
  /** @returns failures of these causes by step, in any order */
  steps(query: FailureQuery, causes: readonly string[], steps: RollupSteps): Promise<readonly CauseStep[]>;
  /** Drops the causes that were not seen since a time. */
  dropBefore(time: number): Promise<void>;
}
