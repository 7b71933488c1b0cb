/**
 * The one way to call a source: with a deadline, shared by all who ask the same, its failures mapped to
 * our codes, its late answers swallowed. Whatever a source does, it ends here.
 */
import { isMonitorError, MonitorError } from './errors.ts';
import { codeOf } from './read/failure.ts';
import { createFlight, type Flight, type OnLeave } from './read/flight.ts';
import type { Report } from './read/report.ts';
import type { Awaitable, ReadContext, SourcePart } from './source.ts';

export { type Currency, currencyOf } from './read/currency.ts';
export { CLIENT_GONE, type OnLeave } from './read/flight.ts';
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
  read(context: ReadContext): Awaitable<Raw>;
  /**
   * Makes the result, once for all who wait. A MonitorError that it throws is the outcome; anything else
   * means that the data is not what it should be.
   */
  map(raw: Raw): Result;
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
  readonly report: Report;
}

// A part with this many reads that outlived their deadline is not asked again before one of them ends...
const MOST_ABANDONED = 3;
// ...or has been out for this many deadlines: a source that lost a promise for good gets another chance.
const ABANDONED_FOR_DEADLINES = 10;

const CLOSED = 'The monitor was closed.';

/** What is under way at one part. */
interface Desk {
  readonly flights: Map<string, Flight<unknown>>;
  /** Reads that outlived their deadline, and when they did, in monotonic milliseconds. */
  readonly abandoned: Map<object, number>;
}

export function createReader({ timeoutMs, concurrency, report }: ReaderOptions): Reader {
  const desks = new Map<SourcePart, Desk>();
  const open = new Set<Flight<unknown>>();
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
    pending: PromiseLike<Raw>,
    abort: () => void,
  ): Flight<Result> {
    const flight: Flight<Result> = createFlight<Raw, Result>({
      pending,
      timeoutMs,
      finish: (raw) => finish(task, raw, report),
      fail: (error) => failure(task, error, report),
      onGiveUp() {
        if (desk.flights.get(id) === flight) desk.flights.delete(id);
        abort();
      },
      onDeadline() {
        desk.abandoned.set(flight, performance.now());
        abort();
      },
      onEnd() {
        open.delete(flight);
        if (desk.flights.get(id) === flight) desk.flights.delete(id);
      },
      onLateEnd: () => void desk.abandoned.delete(flight),
    });
    open.add(flight);
    desk.flights.set(id, flight);
    return flight;
  }

  return {
    read<Raw, Result>(task: ReadTask<Raw, Result>, onLeave?: OnLeave): Awaitable<Result> {
      if (closed) throw new MonitorError('overloaded', CLOSED);
      const desk = deskOf(task.part);
      const id = `${task.call} ${task.key}`;
      // The same part, call and key have the same result type.
      const shared = desk.flights.get(id) as Flight<Result> | undefined;
      if (shared !== undefined) return shared.join(onLeave);
      if (isBlocked(desk)) throw new MonitorError('source_unavailable');
      if (open.size >= concurrency && !task.urgent) throw new MonitorError('overloaded');
      const { context, abort } = createContext();
      let raw: Awaitable<Raw>;
      let pending: PromiseLike<Raw> | null;
      try {
        raw = task.read(context);
        pending = isThenable(raw) ? raw : null;
      } catch (error) {
        throw failure(task, error, report);
      }
      if (pending === null) return finish(task, raw as Raw, report);
      return track(task, desk, id, pending, abort).join(onLeave);
    },
    close() {
      closed = true;
      for (const flight of [...open]) flight.cancel(new MonitorError('overloaded', CLOSED));
    },
  };
}

/** The failure as clients may see it: a sentence of ours. The real one goes to the host alone. */
function failure(
  task: Pick<ReadTask<unknown, unknown>, 'part' | 'call'>,
  error: unknown,
  report: Report,
): MonitorError {
  const code = codeOf(error);
  if (code !== 'task_not_found') report(error, { code, source: task.part.name, call: task.call });
  return new MonitorError(code);
}

/** Data that cannot be made sense of is the source's fault, and the host is told what is wrong with it. */
function finish<Raw, Result>(task: ReadTask<Raw, Result>, raw: Raw, report: Report): Result {
  try {
    return task.map(raw);
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

/** An AbortController costs more than a read from memory, so it is made when the source looks at it. */
function createContext(): { readonly context: ReadContext; abort(): void } {
  let controller: AbortController | null = null;
  let aborted = false;
  return {
    context: {
      get signal() {
        controller ??= new AbortController();
        if (aborted) controller.abort();
        return controller.signal;
      },
    },
    abort() {
      aborted = true;
      controller?.abort();
    },
  };
}
