/** The reader's side of a fan-out: each part of a combined part is guarded by itself, and its failure reported. */
import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import type { FanOut, PartRead, Reply } from '../source/combined-part.ts';
import type { Awaitable, SourcePart } from '../source.ts';
import { freshnessOf, hasData, sourceErrorCode } from './freshness.ts';
import type { Failure, ReadResult } from './read-result.ts';
import type { Report } from './report.ts';

/** The last answer of one part. */
export interface LastAnswer {
  readonly raw: unknown;
  /** Milliseconds since 1970. */
  readonly asOf: number | null;
  /** Bytes, roughly. */
  readonly size: number;
}

/** Last answers by key, of bounded size. */
export interface LastAnswers {
  get(key: string): LastAnswer | undefined;
  set(key: string, answer: LastAnswer): void;
}

/** What a read of a combined part is made with. */
export interface FanOutOptions {
  /** Of the whole read. */
  readonly key: string;
  /** `null`: no last answers are kept. */
  readonly lastAnswers: LastAnswers | null;
  readonly report: Report;
  /** Reads a part, guarded. */
  read<Raw>(ask: PartRead<Raw>): Awaitable<Raw>;
}

/** Failures that leave the last data of a source standing. */
export const AWAY: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'source_unavailable',
  'source_timeout',
]);

/** Failures that speak of what was asked for, and not of who was asked. */
const OF_THE_REQUEST: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'invalid_parameter',
  'task_not_found',
  'source_not_configured',
]);

// A row as a list shows it, roughly; what a host puts into its own is not measured.
const ITEM_BYTES = 1_024;

/** @param whole the combined part */
export function createFanOut(
  whole: SourcePart,
  { key, lastAnswers, report, read }: FanOutOptions,
): { readonly fanOut: FanOut; readonly result: ReadResult } {
  const failures = new Map<string, Failure>();
  const leftOut = new Map<string, number>();
  const origins = new Map<unknown, string>();

  async function askFresh<Raw>(ask: PartRead<Raw>, place: string): Promise<Raw> {
    const freshness = freshnessOf(ask.part, Date.now(), report);
    const [source] = freshness.sources;
    if (!hasData(freshness)) throw new MonitorError(source?.error ?? 'source_unavailable');
    const raw = await read(ask);
    const size = (ask.count(raw) + 1) * ITEM_BYTES;
    if (ask.mayBeOld !== false) lastAnswers?.set(place, { raw, asOf: source?.asOf ?? null, size });
    return raw;
  }

  function standIn<Raw>({ part, mayBeOld }: PartRead<Raw>, error: MonitorError, place: string): Reply<Raw> {
    const last = mayBeOld !== false && AWAY.has(error.code) ? lastAnswers?.get(place) : undefined;
    const [source] = freshnessOf(part, Date.now(), report).sources;
    // When a source that says it is fresh fails all the same, nobody knows when it last was.
    const asOf = last?.asOf ?? (source?.ok === false ? source.asOf : null);
    failures.set(part.name, { code: sourceErrorCode(error.code), asOf });
    // The same part and key gave it.
    return last === undefined ? { error } : { raw: last.raw as Raw };
  }

  return {
    fanOut: {
      async ask(ask) {
        const place = `${ask.part.name} ${ask.call} ${ask.which ?? ''} ${key}`;
        try {
          return { raw: await askFresh(ask, place) };
        } catch (error) {
          if (!isMonitorError(error) || OF_THE_REQUEST.has(error.code)) throw error;
          return standIn(ask, error, place);
        }
      },
      attribute(item, { name }) {
        // Two parts may hold the very same object: the second one lists a stand-in of it.
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
