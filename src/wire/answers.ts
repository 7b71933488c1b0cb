/** Bodies that answer why something waits, and when a queue will be empty. */
import type { Integer, Timestamp } from './common.ts';

/** Why a task or the tasks of a queue wait. */
export interface WaitBody {
  /** The cause; `unknown`: `summary` says what is lacking to know it. */
  code:
    | 'eta'
    | 'retry_delay'
    | 'queue_paused'
    | 'no_consumer'
    | 'rate_limit'
    | 'concurrency_limit'
    | 'reserved'
    | 'workers_busy'
    | 'children'
    | 'chord_header'
    | 'missing'
    | 'unknown';
  /** One sentence for people. Its wording may change. */
  summary: string;
  /** When the wait ends: exact for a set time or limit, expected for `workers_busy`; `null` if unknown. */
  until: Timestamp | null;
  /** Since when it waits; `null` if unknown. */
  since: Timestamp | null;
  /** Figures and names behind it; they depend on the cause. */
  evidence: { [key: string]: unknown };
}

/** When a queue will be empty. */
export interface DrainBody {
  /** Expected seconds until then; `null` if it will not be empty, or if that is unknown: see `reason`. */
  seconds: number | null;
  /** The band around `seconds` in which nine of ten forecasts are expected to come true. */
  low: number | null;
  high: number | null;
  /** How many more slots would empty it in ten minutes; `null` if unknown. */
  slots_needed: Integer | null;
  /** By how many tasks it grows in a minute; negative: it shrinks. `null` if unknown. */
  per_minute: number | null;
  /** The time over which its depth was observed. */
  based_on_seconds: Integer;
  /** `grows`: it will not be empty; otherwise a sentence that says what is lacking. `null` with `seconds`. */
  reason: string | null;
}
