import type { MonitorErrorCode } from '../errors.ts';
import { partsOf } from '../source/combined-part.ts';
import type { SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import type { Told } from './gathering.ts';
import type { Report } from './report.ts';

/** How current one source is. */
export interface SourceCurrency {
  readonly name: string;
  readonly ok: boolean;
  /** Milliseconds since 1970; `null` if it never was current. */
  readonly asOf: number | null;
  readonly error: SourceErrorCode | null;
}

/** How current a part is: its checked `SourceStatus`, or those of the parts that it is made of. */
export interface Currency {
  /** One, but for a combined part. */
  readonly sources: readonly SourceCurrency[];
  /** Whether any of them is. */
  readonly ok: boolean;
  /** Which of them are not, and why; empty when all are. */
  readonly outages: string;
  /** Answers of one revision are the same; `null` when the part does not say. */
  readonly revision: string | number | null;
  /** Milliseconds since 1970 at which the clock alone changes an answer; infinite for never. */
  readonly changesAt: number;
}

interface PartCurrency extends SourceCurrency, Pick<Currency, 'revision' | 'changesAt'> {}

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
  const parts = partsOf(part).map((one) => partCurrencyOf(one, now, report));
  const revisions = parts.map(({ revision }) => revision);
  const [revision = null] = revisions;
  return currencyFrom(parts, {
    revision: parts.length === 1 ? revision : revisions.includes(null) ? null : JSON.stringify(revisions),
    changesAt: Math.min(...parts.map(({ changesAt }) => changesAt)),
  });
}

/** The first reason why a source of a part is not current; `null` when all are. */
export function errorOf({ sources }: Currency): SourceErrorCode | null {
  return sources.find(({ ok }) => !ok)?.error ?? null;
}

/** Whether there is anything that could be shown: what was never current holds nothing. */
export function hasData({ sources }: Currency): boolean {
  return sources.some(({ ok, asOf }) => ok || asOf !== null);
}

/**
 * How current an answer is that was read between these two: what was old on either side is old, and what
 * failed in between is told.
 */
export function currencyBetween(before: Currency, after: Currency, { failures }: Told): Currency {
  const sources = before.sources.map((earlier, index): SourceCurrency => {
    const later = after.sources[index] ?? earlier;
    const asOf = earlier.ok ? (later.asOf ?? earlier.asOf) : earlier.asOf;
    const merged = { ...(earlier.ok ? later : earlier), asOf };
    const failure = failures.get(earlier.name);
    return failure === undefined ? merged : { ...merged, ok: false, asOf: failure.asOf, error: failure.code };
  });
  // Read while it changed, nobody knows which of the two it is; with something missing, it may be there next time.
  const isKnown = before.revision === after.revision && failures.size === 0;
  return currencyFrom(sources, {
    revision: isKnown ? before.revision : null,
    changesAt: Math.min(before.changesAt, after.changesAt),
  });
}

/** The same, with every source away. */
export function currencyAway(currency: Currency, error: SourceErrorCode): Currency {
  const sources = currency.sources.map((source) => ({ ...source, ok: false, error }));
  return currencyFrom(sources, currency);
}

function currencyFrom(
  parts: readonly SourceCurrency[],
  { revision, changesAt }: Pick<Currency, 'revision' | 'changesAt'>,
): Currency {
  const sources = parts.map(({ name, ok, asOf, error }) => ({ name, ok, asOf, error }));
  const away = sources.filter(({ ok }) => !ok);
  return {
    sources,
    ok: away.length < sources.length,
    outages: away.map(({ name, error }) => `${name} ${error}`).join(),
    revision,
    changesAt,
  };
}

function partCurrencyOf(part: SourcePart, now: number, report: Report): PartCurrency {
  const { name } = part;
  if (part.status === undefined) {
    return { name, ok: true, asOf: now, error: null, revision: null, changesAt: Infinity };
  }
  try {
    const { ok, asOf, error, revision, changesAt } = part.status();
    if (typeof ok !== 'boolean')
      throw new TypeError('status() must return { ok: boolean, asOf: Date | null }.');
    const at = timeOf(asOf);
    return {
      name,
      ok,
      // Being current and never having been current cannot both be.
      asOf: ok ? (at ?? now) : at,
      error: ok ? null : sourceErrorCode(error),
      revision: typeof revision === 'string' || typeof revision === 'number' ? revision : null,
      changesAt: changesAt === undefined || changesAt === null ? Infinity : (timeOf(changesAt) ?? -Infinity),
    };
  } catch (error) {
    report(error, { code: 'source_unavailable', source: name, call: 'status' });
    return { name, ok: false, asOf: null, error: 'source_unavailable', revision: null, changesAt: Infinity };
  }
}

function timeOf(value: unknown): number | null {
  const time = value instanceof Date ? value.getTime() : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** The code as `sources[].error` can carry it. */
export function sourceErrorCode(code: MonitorErrorCode | null | undefined): SourceErrorCode {
  return isSourceErrorCode(code) ? code : 'source_unavailable';
}

function isSourceErrorCode(code: MonitorErrorCode | null | undefined): code is SourceErrorCode {
  return code !== null && code !== undefined && CODES.has(code);
}
