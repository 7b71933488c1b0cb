/** What was found by looking beyond the channels and keys that this source is set to. */

/**
 * Patterns that events of any deployment are heard by: the second one finds those with another
 * `event_exchange`. A user of Redis 7 needs these very texts in its ACL.
 */
export const EVENT_PATTERNS: readonly string[] = ['*celeryev*', '*worker.heartbeat'];

/** What every result's key and channel has behind its prefix (celery/backends/base.py). */
export const RESULT_PART = 'celery-task-meta-';

/** Where else there may be events. */
export interface EventFindings {
  /** Channels on which events were heard, each once. */
  readonly channels: readonly string[];
  /** The Redis user may not subscribe to more than our own channels. */
  readonly isForbidden: boolean;
  /** Our database has keys of a broker under our prefix. */
  readonly isAtHome: boolean;
  /** Prefixes under which our database has them otherwise. */
  readonly prefixes: readonly string[];
  /** Other databases that have them under our prefix, in order. */
  readonly databases: readonly number[];
}

/** Where else there may be results. */
export interface ResultFindings {
  /** Our database has results under our prefix. */
  readonly isAtHome: boolean;
  /** Other prefixes that were published or stored under. */
  readonly prefixes: readonly string[];
}

/** All that is known now; `null` where nobody has looked, or had to. */
export interface Findings {
  readonly events: EventFindings | null;
  readonly results: ResultFindings | null;
  /** The database that published results are stored in, which is not ours. */
  readonly storedIn: number | null;
}

/** Nobody has looked. */
export const NO_FINDINGS: Findings = { events: null, results: null, storedIn: null };
