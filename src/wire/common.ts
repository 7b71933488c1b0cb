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
