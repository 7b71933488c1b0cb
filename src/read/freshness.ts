import { MonitorError, type MonitorErrorCode } from '../errors.ts';
import { partsOf } from '../source/combined-part.ts';
import type { SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import type { Report } from './report.ts';

/** How fresh the data of one source is. */
interface SourceFreshness {
  readonly name: string;
  /** The queueing system that it reads; `null` if unknown. */
  readonly engine: string | null;
  readonly ok: boolean;
  /** When it was last fresh, in milliseconds since 1970; `null` if it never was. */
  readonly asOf: number | null;
  readonly error: SourceErrorCode | null;
}

/** How fresh a part is: its checked `SourceStatus`, or those of the parts that it is made of. */
export interface Freshness {
  /** One, but for a combined part. */
  readonly sources: readonly SourceFreshness[];
  /** Whether any of them is fresh. */
  readonly ok: boolean;
  /** Which of them are stale, and why; empty when none is. */
  readonly outages: string;
  /** Answers with the same revision are equal; `null` if the part has none. */
  readonly revision: string | number | null;
  /** Milliseconds since 1970 at which the clock alone changes an answer; infinite for never. */
  readonly changesAt: number;
}

const CODES: ReadonlySet<unknown> = new Set<SourceErrorCode>([
  'source_unavailable',
  'source_timeout',
  'source_invalid',
  'overloaded',
]);

/**
 * Asks a part how fresh it is. Never throws.
 *
 * @param now milliseconds since 1970; a part without a status is fresh as of then
 */
export function freshnessOf(part: SourcePart, now: number, report: Report): Freshness {
  const parts = partsOf(part).map((one) => partFreshnessOf(one, now, report));
  const revisions = parts.map(({ revision }) => revision);
  const [revision = null] = revisions;
  return freshnessFrom(parts, {
    revision: parts.length === 1 ? revision : revisions.includes(null) ? null : JSON.stringify(revisions),
    changesAt: Math.min(...parts.map(({ changesAt }) => changesAt)),
  });
}

/** Why the first stale source of a part is stale; `null` when all are fresh. */
export function errorOf({ sources }: Freshness): SourceErrorCode | null {
  return sources.find(({ ok }) => !ok)?.error ?? null;
}

/** Whether there is anything to show: a source that was never fresh has nothing. */
export function hasData({ sources }: Freshness): boolean {
  return sources.some(({ ok, asOf }) => ok || asOf !== null);
}

/**
 * The freshness of an answer that was read between these two: what was stale on either side is stale, and a
 * failure in between is reported.
 */
export function freshnessBetween(before: Freshness, after: Freshness, { failures }: ReadResult): Freshness {
  const sources = before.sources.map((earlier, index): SourceFreshness => {
    const later = after.sources[index] ?? earlier;
    const asOf = earlier.ok ? (later.asOf ?? earlier.asOf) : earlier.asOf;
    const merged = { ...(earlier.ok ? later : earlier), asOf };
    const failure = failures.get(earlier.name);
    return failure === undefined ? merged : { ...merged, ok: false, asOf: failure.asOf, error: failure.code };
  });
  // Read while it changed, the answer may be of either revision; what is missing now may be there next time.
  const isKnown = before.revision === after.revision && failures.size === 0;
  return freshnessFrom(sources, {
    revision: isKnown ? before.revision : null,
    changesAt: Math.min(before.changesAt, after.changesAt),
  });
}

/** The same, with every source unavailable. */
export function freshnessAway(freshness: Freshness, error: SourceErrorCode): Freshness {
  const sources = freshness.sources.map((source) => ({ ...source, ok: false, error }));
  return freshnessFrom(sources, freshness);
}

/** Whether the source would return what it returned at the time of `held`. @param now milliseconds since 1970 */
export function isStillFresh(held: Freshness, latest: Freshness, now: number): boolean {
  return (
    latest.revision !== null &&
    latest.revision === held.revision &&
    latest.outages === held.outages &&
    now < held.changesAt
  );
}

function freshnessFrom(
  parts: readonly SourceFreshness[],
  { revision, changesAt }: Pick<Freshness, 'revision' | 'changesAt'>,
): Freshness {
  const sources = parts.map(({ name, engine, ok, asOf, error }) => ({ name, engine, ok, asOf, error }));
  const away = sources.filter(({ ok }) => !ok);
  return {
    sources,
    ok: away.length < sources.length,
    outages: away.map(({ name, error }) => `${name} ${error}`).join(),
    revision,
    changesAt,
  };
}

function partFreshnessOf(
  part: SourcePart,
  now: number,
  report: Report,
): SourceFreshness & Pick<Freshness, 'revision' | 'changesAt'> {
  const { name } = part;
  const engine = typeof part.engine === 'string' ? part.engine : null;
  const unknown = { name, engine, revision: null, changesAt: Infinity };
  if (part.status === undefined) return { ...unknown, ok: true, asOf: now, error: null };
  try {
    const { ok, asOf, error, reason, revision, changesAt } = part.status();
    if (typeof ok !== 'boolean')
      throw new TypeError('status() must return { ok: boolean, asOf: Date | null }.');
    const at = timeOf(asOf);
    const code = ok ? null : sourceErrorCode(error);
    // Without a reason nothing is wrong yet: a source that has just started is not fresh either.
    if (code !== null && typeof reason === 'string') {
      report(new MonitorError(code, reason), { code, source: name, call: 'status' });
    }
    return {
      name,
      engine,
      ok,
      // A source that is fresh now has a time at which it was.
      asOf: ok ? (at ?? now) : at,
      error: code,
      revision: typeof revision === 'string' || typeof revision === 'number' ? revision : null,
      changesAt: changesAt === undefined || changesAt === null ? Infinity : (timeOf(changesAt) ?? -Infinity),
    };
  } catch (error) {
    report(error, { code: 'source_unavailable', source: name, call: 'status' });
    return { ...unknown, ok: false, asOf: null, error: 'source_unavailable' };
  }
}

function timeOf(value: unknown): number | null {
  const time = value instanceof Date ? value.getTime() : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** The code as `sources[].error` can carry it. */
export function sourceErrorCode(code: MonitorErrorCode | null | undefined): SourceErrorCode {
  return CODES.has(code) ? (code as SourceErrorCode) : 'source_unavailable';
}

/** Facts about a read, in addition to the data. */
export interface ReadResult {
  /** Sources that failed while others answered, by name. */
  readonly failures: ReadonlyMap<string, Failure>;
  /** Items that were left out because they cannot be read, by the name of their source. */
  readonly leftOut: ReadonlyMap<string, number>;
  /** Name of the source that an item of the answer came from. */
  sourceOf(item: unknown): string;
}

/** The failure of one source. */
export interface Failure {
  readonly code: SourceErrorCode;
  /** When the data that is shown instead was read, in milliseconds since 1970; `null` when none is shown. */
  readonly asOf: number | null;
}

const NO_FAILURES: ReadResult['failures'] = new Map();
const NOTHING_LEFT_OUT: ReadResult['leftOut'] = new Map();

/** The read result of a part that is not combined. */
export function resultOf({ name }: SourcePart): ReadResult {
  return { failures: NO_FAILURES, leftOut: NOTHING_LEFT_OUT, sourceOf: () => name };
}
