import type { MonitorErrorCode } from '../errors.ts';
import type { SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import type { Report } from './report.ts';

/** How current a part is: its checked `SourceStatus`. */
export interface Currency {
  readonly ok: boolean;
  /** Milliseconds since 1970; `null` if it never was current. */
  readonly asOf: number | null;
  readonly error: SourceErrorCode | null;
  /** Answers of one revision are the same; `null` when the part does not say. */
  readonly revision: string | number | null;
  /** Milliseconds since 1970 at which the clock alone changes an answer; infinite for never. */
  readonly changesAt: number;
}

const CODES: ReadonlySet<MonitorErrorCode> = new Set<SourceErrorCode>([
  'source_unavailable',
  'source_timeout',
  'source_invalid',
  'overloaded',
]);

/**
 * Asks a part how current it is. Never throws.
 *
 * @param now milliseconds since 1970; what a part without a status is current as of
 */
export function currencyOf(part: SourcePart, now: number, report: Report): Currency {
  if (part.status === undefined) {
    return { ok: true, asOf: now, error: null, revision: null, changesAt: Infinity };
  }
  try {
    const { ok, asOf, error, revision, changesAt } = part.status();
    if (typeof ok !== 'boolean')
      throw new TypeError('status() must return { ok: boolean, asOf: Date | null }.');
    const at = timeOf(asOf);
    return {
      ok,
      // Being current and never having been current cannot both be.
      asOf: ok ? (at ?? now) : at,
      error: ok ? null : readCode(error),
      revision: typeof revision === 'string' || typeof revision === 'number' ? revision : null,
      changesAt: changesAt === undefined || changesAt === null ? Infinity : (timeOf(changesAt) ?? -Infinity),
    };
  } catch (error) {
    report(error, { code: 'source_unavailable', source: part.name, call: 'status' });
    return { ok: false, asOf: null, error: 'source_unavailable', revision: null, changesAt: Infinity };
  }
}

function timeOf(value: unknown): number | null {
  const time = value instanceof Date ? value.getTime() : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

function readCode(code: MonitorErrorCode | null | undefined): SourceErrorCode {
  return isSourceErrorCode(code) ? code : 'source_unavailable';
}

/** Whether a code is one that `sources[].error` can carry. */
function isSourceErrorCode(code: MonitorErrorCode | null | undefined): code is SourceErrorCode {
  return code !== null && code !== undefined && CODES.has(code);
}
