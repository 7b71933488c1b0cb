import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import type { LruCache } from '../lru-cache.ts';
import type { FanOut, PartRead, Reply } from '../source/combined-part.ts';
import type { Awaitable, SourcePart } from '../source.ts';
import { type Failure, freshnessOf, hasData, type ReadResult, sourceErrorCode } from './freshness.ts';
import type { Report } from './report.ts';

/** The last data of one part. */
export interface LastAnswer {
  readonly raw: unknown;
  /** Milliseconds since 1970. */
  readonly asOf: number | null;
  /** Approximate size in bytes. */
  readonly size: number;
}

/** Errors after which the last data of a source may be shown. */
export const AWAY: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'source_unavailable',
  'source_timeout',
]);

/** Errors caused by the request, not by the source. */
export const OF_THE_REQUEST: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'invalid_parameter',
  'task_not_found',
  'source_not_configured',
]);

// Approximate size of a list row; larger items of a host are not measured.
const ITEM_BYTES = 1_024;

/**
 * Creates the fan-out of one read of a combined part. A part that fails while others answer has failed for this read
 * only, and its last data is shown instead.
 *
 * @param whole the combined part
 * @param key of the whole read
 * @param lastAnswers `null`: last data is not kept
 * @param read reads one part, with a deadline and limits
 */
export function createFanOut(
  whole: SourcePart,
  key: string,
  lastAnswers: LruCache<LastAnswer> | null,
  report: Report,
  read: <Raw>(ask: PartRead<Raw>) => Awaitable<Raw>,
): { readonly fanOut: FanOut; readonly result: ReadResult } {
  const failures = new Map<string, Failure>();
  const leftOut = new Map<string, number>();
  const origins = new Map<unknown, string>();

  async function askFresh<Raw>(ask: PartRead<Raw>, readKey: string): Promise<Raw> {
    const freshness = freshnessOf(ask.part, Date.now(), report);
    const [source] = freshness.sources;
    if (!hasData(freshness)) throw new MonitorError(source?.error ?? 'source_unavailable');
    const raw = await read(ask);
    const size = (ask.count(raw) + 1) * ITEM_BYTES;
    if (ask.mayBeOld !== false) lastAnswers?.set(readKey, { raw, asOf: source?.asOf ?? null, size });
    return raw;
  }

  function standIn<Raw>({ part, mayBeOld }: PartRead<Raw>, error: MonitorError, readKey: string): Reply<Raw> {
    const last = mayBeOld !== false && AWAY.has(error.code) ? lastAnswers?.get(readKey) : undefined;
    const [source] = freshnessOf(part, Date.now(), report).sources;
    // When a source reports to be fresh but fails, the time of its last success is unknown.
    const asOf = last?.asOf ?? (source?.ok === false ? source.asOf : null);
    failures.set(part.name, { code: sourceErrorCode(error.code), asOf });
    // The same part and key have the same type.
    return last === undefined ? { error } : { raw: last.raw as Raw };
  }

  return {
    fanOut: {
      async ask(ask) {
        const readKey = `${ask.part.name} ${ask.call} ${ask.which ?? ''} ${key}`;
        try {
          return { raw: await askFresh(ask, readKey) };
        } catch (error) {
          if (!isMonitorError(error) || OF_THE_REQUEST.has(error.code)) throw error;
          return standIn(ask, error, readKey);
        }
      },
      attribute(item, { name }) {
        // Two parts may return the same object: the second one gets an object that inherits from it.
        const own = origins.has(item) && typeof item === 'object' ? Object.create(item) : item;
        origins.set(own, name);
        return own;
      },
      leaveOut({ name }, _call, count) {
        if (count > 0) leftOut.set(name, (leftOut.get(name) ?? 0) + count);
      },
    },
    result: { failures, leftOut, sourceOf: (item) => origins.get(item) ?? whole.name },
  };
}
