/**
 * The one way to call a source: with a deadline, shared by all who ask the same, its failures mapped to
 * our codes, its late answers swallowed. Whatever a source does, it ends here.
 */
import { isMonitorError, MonitorError } from './errors.ts';
import { type Aborting, createContext } from './read/context.ts';
import { codeOf } from './read/failure.ts';
import { createFlight, type Flight, type OnLeave } from './read/flight.ts';
import { createGathering, type LastAnswers, type Told, toldOf } from './read/gathering.ts';
import type { Report } from './read/report.ts';
import { type Ask, partsOf, withGathering } from './source/combined-part.ts';
import type { Awaitable, ReadContext, SourcePart } from './source.ts';

export {
  type Currency,
  currencyAway,
  currencyBetween,
  currencyOf,
  errorOf,
  hasData,
} from './read/currency.ts';
export { CLIENT_GONE, type OnLeave } from './read/flight.ts';
export { AWAY, type LastAnswer, type Told } from './read/gathering.ts';
export { createReport, type Report } from './read/report.ts';

/** One read, and what is made of it. */
export interface ReadTask<Raw, Result> {
  readonly part: SourcePart;
  /** Name of the method, for reports. */
  readonly call: string;
  /** Its arguments in a canonical form: reads of one part, call and key are one read. */
  readonly key: string;
  /** Not held back when too many reads are under way; for what bounds itself. */
  readonly urgent?: boolean;
  /** Milliseconds, less than those of the reader. Default: those. */
  readonly timeoutMs?: number;
  /** Whether a combined part's parts leave their last answers for an outage. Default false. */
  readonly keepsLast?: boolean;
  read(context: ReadContext): Awaitable<Raw>;
  /**
   * Makes the result, once for all who wait. A MonitorError that it throws is the outcome; anything else
   * means that the data is not what it should be.
   *
   * @param told what is known of the answer beside it
   */
  map(raw: Raw, told: Told): Result;
}

/** Reads of all sources. */
export interface Reader {
  /**
   * The result, at once (no promise) when the source answers at once.
   *
   * @param onLeave tells when this client leaves. Left out: it stays.
   * @throws MonitorError with the code to answer with, or `CLIENT_GONE`
   */
  read<Raw, Result>(task: ReadTask<Raw, Result>, onLeave?: OnLeave): Awaitable<Result>;
  /** Ends every read as `overloaded`, and refuses later ones. */
  close(): void;
}

/** Bounds of a {@link Reader}. */
export interface ReaderOptions {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Most reads at once. */
  readonly concurrency: number;
  /** Most of them of one part. */
  readonly perPart: number;
  readonly report: Report;
  /** What parts of combined parts last answered. Default: nothing is kept. */
  readonly lastAnswers?: LastAnswers;
}

// A part with this many reads that outlived their deadline is not asked again before one of them ends...
const MOST_ABANDONED = 3;
// ...or has been out for this many deadlines: a source that lost a promise for good gets another chance.
const ABANDONED_FOR_DEADLINES = 10;

// Of the time of the whole: what is left is for putting together what the others have answered.
const SHARE_OF_PARTS = 0.9;

const CLOSED = 'The monitor was closed.';

/** A read that has begun. */
interface Start<Raw> {
  readonly pending: PromiseLike<Raw> | null;
  readonly told: Told;
  abort(): void;
  /** Among which it is held. */
  readonly place: Set<Flight<unknown>>;
}

/** What is under way at one part. */
interface Desk {
  readonly flights: Map<string, Flight<unknown>>;
  /** Reads that outlived their deadline, and when they did, in monotonic milliseconds. */
  readonly abandoned: Map<object, number>;
}

export function createReader(options: ReaderOptions): Reader {
  const { timeoutMs, concurrency, perPart, report, lastAnswers } = options;
  const desks = new Map<SourcePart, Desk>();
  const open = new Set<Flight<unknown>>();
  /** Reads of parts on behalf of an open one, which count as that one. */
  const inner = new Set<Flight<unknown>>();
  let asked = 0;
  let closed = false;

  function deskOf(part: SourcePart): Desk {
    let desk = desks.get(part);
    if (desk === undefined) {
      desk = { flights: new Map(), abandoned: new Map() };
      desks.set(part, desk);
    }
    return desk;
  }

  function isBlocked({ abandoned }: Desk): boolean {
    const oldest = performance.now() - timeoutMs * ABANDONED_FOR_DEADLINES;
    for (const [read, since] of abandoned) {
      if (since < oldest) abandoned.delete(read);
    }
    return abandoned.size >= MOST_ABANDONED;
  }

  function track<Raw, Result>(
    task: ReadTask<Raw, Result>,
    desk: Desk,
    id: string,
    { pending, told, abort, place }: Start<Raw> & { readonly pending: PromiseLike<Raw> },
  ): Flight<Result> {
    const flight: Flight<Result> = createFlight<Raw, Result>({
      pending,
      timeoutMs: task.timeoutMs ?? timeoutMs,
      finish: (raw) => finish(task, raw, told, report),
      fail: (error) => fail(task, error),
      onGiveUp() {
        if (desk.flights.get(id) === flight) desk.flights.delete(id);
        abort();
      },
      onDeadline() {
        desk.abandoned.set(flight, performance.now());
        abort();
      },
      onEnd() {
        place.delete(flight);
        if (desk.flights.get(id) === flight) desk.flights.delete(id);
      },
      onLateEnd: () => void desk.abandoned.delete(flight),
    });
    place.add(flight);
    desk.flights.set(id, flight);
    return flight;
  }

  /** The failure as clients may see it: a sentence of ours. The real one goes to the host alone. */
  function fail(
    { part, call }: Pick<ReadTask<never, unknown>, 'part' | 'call'>,
    error: unknown,
  ): MonitorError {
    const code = codeOf(error);
    // What a combined part fails with, one of its parts has failed with.
    const isKnown = code === 'task_not_found' || (isMonitorError(error) && partsOf(part).length > 1);
    if (!isKnown) report(error, { code, source: part.name, call });
    return new MonitorError(code);
  }

  /** What the parts of a combined part are read by: each with a deadline of its own, before that of the whole. */
  function gather<Raw>(task: ReadTask<Raw, unknown>, { context, onAbort }: Aborting): Told {
    if (partsOf(task.part).length === 1) return toldOf(task.part);
    const deadline = performance.now() + (task.timeoutMs ?? timeoutMs) * SHARE_OF_PARTS;
    const { gathering, told } = createGathering(task.part, {
      key: task.key,
      lastAnswers: (task.keepsLast && lastAnswers) || null,
      report,
      read: <Raw>({ part, call, read: ask, count }: Ask<Raw>) => {
        asked += 1;
        const left = Math.max(1, Math.floor(deadline - performance.now()));
        const check = (raw: Raw): Raw => {
          count(raw);
          return raw;
        };
        // Its key is its own: the read of the whole is what is shared.
        const key = `part ${asked}`;
        return begin({ part, call, key, timeoutMs: left, read: ask, map: check }, onAbort, inner);
      },
    });
    withGathering(context, gathering);
    return told;
  }

  function begin<Raw, Result>(
    task: ReadTask<Raw, Result>,
    onLeave: OnLeave | undefined,
    place: Set<Flight<unknown>>,
  ): Awaitable<Result> {
    if (closed) throw new MonitorError('overloaded', CLOSED);
    const desk = deskOf(task.part);
    const id = `${task.call} ${task.key}`;
    // The same part, call and key have the same result type.
    const shared = desk.flights.get(id) as Flight<Result> | undefined;
    if (shared !== undefined) return shared.join(onLeave);
    if (isBlocked(desk)) throw new MonitorError('source_unavailable');
    const isFull = open.size >= concurrency || desk.flights.size >= perPart;
    if (place === open && isFull && !task.urgent) throw new MonitorError('overloaded');
    const aborting = createContext();
    const { context, abort } = aborting;
    const told = gather(task, aborting);
    let raw: Awaitable<Raw>;
    let pending: PromiseLike<Raw> | null;
    try {
      raw = task.read(context);
      pending = isThenable(raw) ? raw : null;
    } catch (error) {
      throw fail(task, error);
    }
    if (pending === null) return finish(task, raw as Raw, told, report);
    return track(task, desk, id, { pending, told, abort, place }).join(onLeave);
  }

  return {
    read: (task, onLeave) => begin(task, onLeave, open),
    close() {
      closed = true;
      for (const flight of [...open, ...inner]) flight.cancel(new MonitorError('overloaded', CLOSED));
    },
  };
}

/** Data that cannot be made sense of is the source's fault, and the host is told what is wrong with it. */
function finish<Raw, Result>(task: ReadTask<Raw, Result>, raw: Raw, told: Told, report: Report): Result {
  try {
    return task.map(raw, told);
  } catch (error) {
    if (isMonitorError(error) && error.code !== 'source_invalid') throw error;
    report(error, { code: 'source_invalid', source: task.part.name, call: task.call });
    throw new MonitorError('source_invalid');
  }
}

function isThenable<T>(value: Awaitable<T>): value is PromiseLike<T> {
  const kind = typeof value;
  return (
    (kind === 'object' || kind === 'function') &&
    value !== null &&
    typeof (value as PromiseLike<T>).then === 'function'
  );
}
