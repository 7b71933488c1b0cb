/** The reader's side of a read of a combined part: each part guarded for itself, and what became of it. */
import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import type { Ask, Gathering, Reply } from '../source/combined-part.ts';
import type { Awaitable, SourcePart } from '../source.ts';
import type { SourceErrorCode } from '../wire.ts';
import { currencyOf, hasData, sourceErrorCode } from './currency.ts';
import type { Report } from './report.ts';

/** What is known of an answer beside the answer. */
export interface Told {
  /** By the name of the source: those that have not answered, though others have. */
  readonly failures: ReadonlyMap<string, Failure>;
  /** By the name of the source: items that were left out because they cannot be read. */
  readonly leftOut: ReadonlyMap<string, number>;
  /** Name of the source that an item of the answer came from. */
  sourceOf(item: unknown): string;
}

/** A source that has not answered. */
export interface Failure {
  readonly code: SourceErrorCode;
  /** How old what is shown of it is, in milliseconds since 1970; `null` when nothing of it is shown. */
  readonly asOf: number | null;
}

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
export interface GatheringOptions {
  /** Of the whole read. */
  readonly key: string;
  /** `null`: no last answers are kept. */
  readonly lastAnswers: LastAnswers | null;
  readonly report: Report;
  /** Reads a part, guarded. */
  read<Raw>(ask: Ask<Raw>): Awaitable<Raw>;
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

const NO_FAILURES: Told['failures'] = new Map();
const NOTHING_LEFT_OUT: Told['leftOut'] = new Map();

/** What is told of a part that is made of no others. */
export function toldOf({ name }: SourcePart): Told {
  return { failures: NO_FAILURES, leftOut: NOTHING_LEFT_OUT, sourceOf: () => name };
}

/** @param whole the combined part */
export function createGathering(
  whole: SourcePart,
  { key, lastAnswers, report, read }: GatheringOptions,
): { readonly gathering: Gathering; readonly told: Told } {
  const failures = new Map<string, Failure>();
  const leftOut = new Map<string, number>();
  const origins = new Map<unknown, string>();

  async function askCurrent<Raw>(ask: Ask<Raw>, place: string): Promise<Raw> {
    const currency = currencyOf(ask.part, Date.now(), report);
    const [source] = currency.sources;
    if (!hasData(currency)) throw new MonitorError(source?.error ?? 'source_unavailable');
    const raw = await read(ask);
    const size = (ask.count(raw) + 1) * ITEM_BYTES;
    if (ask.mayBeOld !== false) lastAnswers?.set(place, { raw, asOf: source?.asOf ?? null, size });
    return raw;
  }

  function standIn<Raw>({ part, mayBeOld }: Ask<Raw>, error: MonitorError, place: string): Reply<Raw> {
    const last = mayBeOld !== false && AWAY.has(error.code) ? lastAnswers?.get(place) : undefined;
    const [source] = currencyOf(part, Date.now(), report).sources;
    // What says that it is current and fails all the same was current at nobody knows when.
    const asOf = last?.asOf ?? (source?.ok === false ? source.asOf : null);
    failures.set(part.name, { code: sourceErrorCode(error.code), asOf });
    // The same part and key gave it.
    return last === undefined ? { error } : { raw: last.raw as Raw };
  }

  return {
    gathering: {
      async ask(ask) {
        const place = `${ask.part.name} ${ask.call} ${ask.which ?? ''} ${key}`;
        try {
          return { raw: await askCurrent(ask, place) };
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
    told: { failures, leftOut, sourceOf: (item) => origins.get(item) ?? whole.name },
  };
}
