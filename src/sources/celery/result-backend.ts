/**
 * The interface between the Celery source and the result backend of an app. An implementation fetches values.
 * `results/` decides what to fetch, when, how fast, and what to keep.
 *
 * Every method that reads rejects with an error whose `problem` is a {@link Problem} when the backend is
 * unreachable, late or refuses, and when the signal aborts.
 */
import type { ConnectionState } from '../../kept-connection.ts';
import type { ServerDescription } from './broker.ts';
import type { Hint, Problem } from './hint.ts';

/** A result backend. It does nothing before a method is called. */
export interface ResultBackend {
  /** Results reported as they are written. */
  readonly published: PublishedResults;
  /** Results that are stored, whenever they were written. */
  readonly stored: StoredResults;
  /** Requests a sign of life. Resolves to the problem, or `null`. Never rejects. */
  check(signal: AbortSignal): Promise<Problem | null>;
  /** The data that the component of the backend shows. */
  describe(): ServerDescription;
  /** The hint for a right that our user lacks, with what to run; `null` where the backend has no such rights. */
  deniedHint(access: BackendAccess): Hint | null;
  /**
   * Looks once, over connections of its own, for where else results are stored, when none arrive. Absent where
   * the backend cannot look.
   */
  diagnose?(signal: AbortSignal): Promise<readonly Hint[]>;
  /** Causes of hidden results that the backend knows, such as a table that may not be read. Absent if it knows none. */
  hints?(): readonly Hint[];
  /** Looks once for the place in which the published result of this task is stored, if that is another one. */
  locate?(taskId: string, signal: AbortSignal): Promise<readonly Hint[]>;
  /** Ends every connection, within about a second. */
  close(): Promise<void>;
}

/** What a user of the result backend may be denied. */
export type BackendAccess = 'published' | 'stored';

/** Reports each result soon after it has been written: as a subscriber, or by polling. */
export interface PublishedResults {
  /** Begins to listen, and continues until the backend is closed. Called once. */
  start(handlers: PublishedHandlers): void;
  state(): ConnectionState<Problem>;
  /** Names of the subscribed channels, as access rules must name them; empty if there are none. */
  readonly channels: readonly string[];
}

/** Handlers of published results. Handlers never throw. */
export interface PublishedHandlers {
  /** @param again whether it had been up before, so that results may have been missed */
  up(again: boolean): void;
  /** @param value Celery's own JSON of the result ("meta"), unless the app uses another serializer */
  task(value: string, taskId: string): void;
  /** @param value Celery's own JSON of a stored group */
  group(value: string, groupId: string): void;
  /** A message was dropped, because more arrive than can be processed. */
  lost(): void;
}

/** A stored value: Celery's own JSON of a result or a group, unless the app uses another serializer. */
export interface StoredText {
  readonly text: string;
  /** The value is too long to be read: `text` is only its beginning. */
  readonly isCut: boolean;
}

/** The stored result of a task. */
export interface StoredValue extends StoredText {
  /** Id of the task. */
  readonly id: string;
  /** When it was written, in milliseconds since 1970. Default `null`: unknown. */
  readonly writtenAt?: number | null;
}

/** Values that were read together, in no particular order. Ids without a value are absent. */
export interface StoredPart {
  readonly tasks: readonly StoredValue[];
  readonly groups: readonly StoredText[];
}

/** One step through everything that is stored. */
export interface ScanStep {
  /** Where the next step begins; `null` after the last one. */
  readonly next: string | null;
  /** Results of tasks found in this step, whether their values are wanted or not. */
  readonly taskCount: number;
  /** The wanted values; each part is read on request. */
  readonly parts: AsyncIterable<StoredPart>;
}

/** Reads stored results in steps that keep neither the backend nor this process busy. */
export interface StoredResults {
  /** Whether a scan begins with what was stored last, so that it may end once nothing more is kept. Default false. */
  readonly isNewestFirst?: boolean;
  /** Number of entries, those of other apps included; `null` if we may not read it. */
  size(signal: AbortSignal): Promise<number | null>;
  /**
   * @param from `null` for the first step, then `next` of the step before
   * @param select which of these tasks to read the values of
   */
  scan(
    from: string | null,
    select: (taskIds: readonly string[]) => Promise<readonly string[]>,
    signal: AbortSignal,
  ): Promise<ScanStep>;
  /** Looks up the results of these tasks, at most a few hundred. */
  find(taskIds: readonly string[], signal: AbortSignal): AsyncIterable<readonly StoredValue[]>;
  /** Commands or queries sent so far. */
  requests(): number;
}
