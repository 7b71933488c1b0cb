/** Types that several bodies share: timestamps, integers, the freshness of a source, problems. */
import type { MonitorErrorCode, ParameterFault } from '../errors.ts';

/**
 * An instant in ISO 8601, UTC, with milliseconds: `2026-11-21T02:00:00.000Z`.
 * @format date-time
 */
export type Timestamp = string;

/**
 * An integer.
 * @asType integer
 */
export type Integer = number;

/** Why a source is not ok. These codes are stable. */
export type SourceErrorCode = 'source_unavailable' | 'source_timeout' | 'source_invalid' | 'overloaded';

/** The freshness of one source. */
export interface SourceBody {
  /** Name of the source, as in the `source` field of each row. */
  name: string;
  /** The queueing system that it reads, such as `celery` or `bullmq`; `null` if the source does not name one. */
  engine: string | null;
  /** False while the source cannot reach the system it reads from. Its data is then as old as `as_of`. */
  ok: boolean;
  /** When the data was last known to be fresh; `null` if it never was. */
  as_of: Timestamp | null;
  error: SourceErrorCode | null;
}

/** A problem as `application/problem+json` (RFC 9457). */
export interface ProblemBody {
  /** URI that identifies the kind of problem. It need not resolve. */
  type: string;
  /** Name of this kind of problem. */
  title: string;
  /** HTTP status. */
  status: Integer;
  /** A sentence about this occurrence, written by the monitor. */
  detail: string;
  /** Stable code that clients may branch on. */
  code: MonitorErrorCode;
  /** Every invalid query parameter. Present with `invalid_parameter` only. */
  errors?: ParameterFault[];
}

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
