/** A call of a source, until its result is made. It has a deadline; calls that missed theirs block their part. */
import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import { type Call, type SingleFlight, WAITER_LEFT } from '../single-flight.ts';
import { partsOf } from '../source/combined-part.ts';
import type { Awaitable, SourcePart } from '../source.ts';
import type { Report } from './report.ts';

/** A call in progress. */
export interface TimedRead<Result> extends Call<Result> {
  /** Nobody waits any more: the call is aborted, and its deadline still runs. */
  abandon(): void;
  /** Ends the read with this error; a later answer of the source is ignored. */
  cancel(error: MonitorError): void;
}

interface PendingRead<Raw, Result> {
  readonly part: SourcePart;
  /** Name of the source method, for error reports. */
  readonly call: string;
  /** The data of the source. */
  readonly pending: PromiseLike<Raw>;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Makes the result from the data of the source. A thrown error is the outcome. */
  map(raw: Raw): Awaitable<Result>;
  abort(): void;
  /** The reads of the part. */
  readonly reads: PartReads;
  /** The set of reads that this one belongs to until it ends. */
  readonly among: Set<TimedRead<unknown>>;
  readonly report: Report;
}

/** Starts the deadline of a call, and waits for the source. */
export function startTimedRead<Raw, Result>(options: PendingRead<Raw, Result>): TimedRead<Result> {
  const { part, reads, among, abort } = options;
  let stage: 'asked' | 'answered' | 'ended' = 'asked';
  let isDeserted = false;
  const { result, resolve, reject } = openPromise<Result>();
  const timer = setTimeout(onTimer, options.timeoutMs, turnsBefore(part)).unref();

  function end(settle: () => void): void {
    if (stage === 'ended') return;
    stage = 'ended';
    clearTimeout(timer);
    among.delete(read);
    settle();
  }

  /** A source that rejects because its signal was aborted has not failed. */
  function fail(errorOf: () => unknown): void {
    end(() => reject(isDeserted ? WAITER_LEFT : errorOf()));
  }

  function finish(raw: Raw): void {
    if (stage === 'ended') return;
    stage = 'answered';
    if (isDeserted) {
      fail(() => WAITER_LEFT);
      return;
    }
    // An async function, so that a thrown error is an outcome, too.
    const make = async (): Promise<Result> => {
      reads.abandoned.clear();
      return options.map(raw);
    };
    make().then(
      (made) => end(() => resolve(made)),
      (error) => fail(() => error),
    );
  }

  /** A source that is late has timed out. A result that is late has waited for its turn: too much is asked. */
  function onTimer(turnsLeft: number): void {
    if (stage === 'ended') return;
    if (turnsLeft > 0) setImmediate(onTimer, turnsLeft - 1);
    else if (stage === 'answered') cancel(new MonitorError('overloaded'));
    else {
      abandon(reads, read);
      abort();
      fail(() => failureOf(options, new MonitorError('source_timeout')));
    }
  }

  function cancel(error: MonitorError): void {
    abort();
    end(() => reject(error));
  }

  const read: TimedRead<Result> = {
    result,
    abandon() {
      if (stage === 'ended') return;
      isDeserted = true;
      abort();
    },
    cancel,
  };
  among.add(read);
  // Unlike Promise.resolve, a resolver also catches errors of a thenable that throws.
  new Promise<Raw>((adopt) => adopt(options.pending))
    .finally(() => void reads.abandoned.delete(read))
    .then(finish, (error) => fail(() => failureOf(options, error)));
  return read;
}

/** A promise that others settle. */
function openPromise<Value>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const result = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { result, resolve, reject };
}

/**
 * Turns of the event loop from the timer to the deadline. After a turn that the host held up, all timers are due at once,
 * in no useful order: what has arrived meanwhile, and the deadlines of the parts of a read, come first.
 */
function turnsBefore(part: SourcePart): number {
  return partsOf(part).length > 1 ? 2 : 1;
}

/** The error for clients, with our own message. The original error is reported to the host only. */
export function failureOf(
  { part, call, report }: Pick<PendingRead<never, unknown>, 'part' | 'call' | 'report'>,
  error: unknown,
): MonitorError {
  const code = codeOf(error);
  // The error of a combined part comes from one of its parts, and has been reported there.
  const isReported = code === 'task_not_found' || (isMonitorError(error) && partsOf(part).length > 1);
  if (!isReported) report(error, { code, source: part.name, call });
  return new MonitorError(code);
}

/** Codes that a source may choose. The others are about authorization or the exporter. */
const SOURCE_ERRORS: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'invalid_parameter',
  'task_not_found',
  'source_not_configured',
  'source_invalid',
  'source_unavailable',
  'source_timeout',
  'overloaded',
]);

/** The error code of the response when a source has failed. @param error any thrown value */
function codeOf(error: unknown): MonitorErrorCode {
  return isMonitorError(error) && SOURCE_ERRORS.has(error.code) ? error.code : 'source_unavailable';
}

/** The reads of one part. */
export interface PartReads {
  /** Reads in flight, by call and key. */
  readonly calls: SingleFlight<unknown>;
  /** Reads without a result at their deadline. A read that answers in time clears them. */
  readonly abandoned: Set<object>;
  /** When the latest read was abandoned, or tried although the part is blocked, in monotonic milliseconds. */
  triedAt: number;
}

/** A part with this many abandoned reads is read only to try whether it answers again. */
export const MOST_ABANDONED = 3;
/** Notes a read that missed its deadline. Its promise may never settle, so only the latest are kept. */
function abandon(reads: PartReads, read: object): void {
  const { abandoned } = reads;
  const [oldest] = abandoned;
  if (oldest !== undefined && abandoned.size >= MOST_ABANDONED) abandoned.delete(oldest);
  abandoned.add(read);
  reads.triedAt = performance.now();
}
