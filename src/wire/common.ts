/** What bodies have in common: moments, whole numbers, how current a source is, problems. */
import type { MonitorErrorCode, ParameterFault } from '../errors.ts';

/**
 * A moment in ISO 8601, UTC, with milliseconds: `2026-11-21T02:00:00.000Z`.
 * @format date-time
 */
export type Timestamp = string;

/**
 * A whole number.
 * @asType integer
 */
export type Integer = number;

/** Why a source is not ok: one of our stable error codes. */
export type SourceErrorCode = 'source_unavailable' | 'source_timeout' | 'source_invalid' | 'overloaded';

/** How current one source is. */
export interface SourceBody {
  /** Name of the source, as in `source` of each row. */
  name: string;
  /** False while what it reads from cannot be reached: what is shown is then as old as `as_of`. */
  ok: boolean;
  /** When it was last known to be current; `null` if it never was. */
  as_of: Timestamp | null;
  error: SourceErrorCode | null;
}

/** `application/problem+json` (RFC 9457). */
export interface ProblemBody {
  /** Names the kind of problem; it need not lead anywhere. */
  type: string;
  /** What this kind of problem is called. */
  title: string;
  /** The HTTP status. */
  status: Integer;
  /** A sentence of ours about this occurrence. */
  detail: string;
  /** Stable: clients may branch on it. */
  code: MonitorErrorCode;
  /** Every fault of the query, for `invalid_parameter`. */
  errors?: ParameterFault[];
}
