/** Calls of sources: shared, bounded, and with a deadline. Calls that missed theirs block their part. */
import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import type { LruCache } from '../lru-cache.ts';
import type { Waiter } from '../scheduler.ts';
import {
  type Call,
  createSingleFlight,
  type OnLeave,
  type SingleFlight,
  WAITER_LEFT,
} from '../single-flight.ts';
import { type FanOut, type PartRead, partsOf } from '../source/combined-part.ts';
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import { isThenable } from '../values.ts';
import { createFanOut, type LastAnswer, OF_THE_REQUEST } from './fan-out.ts';
import { type ReadResult, resultOf, sourceErrorCode } from './freshness.ts';
import type { Report } from './report.ts';

/** One read, and how its result is made. */
export interface ReadTask<Raw, Result> {
  readonly part: SourcePart;
  /** Name of the source method, for error reports. */
  readonly call: string;
  /** The arguments in a canonical form: concurrent reads with the same part, call and key are shared. */
  readonly key: string;
  /** Exempt from the limits on concurrent reads; for calls with limits of their own. Default false. */
  readonly urgent?: boolean;
  /** Identifies the client that asks first: long work of different clients takes turns. Default: nobody. */
  readonly client?: string | undefined;
  /** In milliseconds, at most that of the reader. Default: that of the reader. */
  readonly timeoutMs?: number;
  /** Whether the last data of each part of a combined part is kept, to be shown in an outage. Default false. */
  readonly keepsLast?: boolean;
  read(context: ReadContext): Awaitable<Raw>;
  /**
   * Makes the result, once for all waiters. A thrown MonitorError is the outcome; any other error means that
   * the data is invalid.
   *
   * @param result facts about the read
   * @param waiter who waits; its signal aborts when nobody does any more, so that the work can stop
   */
  map(raw: Raw, result: ReadResult, waiter: Waiter): Awaitable<Result>;
}

/** Bounds of a {@link Reader}. */
interface ReaderOptions {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Maximum number of concurrent reads; half of them of one part. */
  readonly concurrency: number;
  readonly report: Report;
  /** Last data of the parts of combined parts. */
  readonly lastAnswers: LruCache<LastAnswer>;
  /** Called for each call of a method of a source. `undefined`: nobody counts them. */
  readonly onCall: ((part: SourcePart, call: string) => void) | undefined;
}

/** The reads in flight. */
interface ReaderState {
  readonly options: ReaderOptions;
  readonly parts: Map<SourcePart, PartReads>;
  /** Reads for clients; their number is bounded. */
  readonly open: Set<TimedRead<unknown>>;
  /** Reads of the parts of a combined part, on behalf of an open one. */
  readonly inner: Set<TimedRead<unknown>>;
  /** Number of inner reads so far, for unique keys. */
  innerReads: number;
  closed: boolean;
}

/** The reads of one part. */
interface PartReads {
  /** Reads in flight, by call and key. */
  readonly calls: SingleFlight<unknown>;
  /** Reads without a result at their deadline. A read that answers in time clears them. */
  readonly abandoned: Set<object>;
  /** When the latest read was abandoned, or tried although the part is blocked, in monotonic milliseconds. */
  triedAt: number;
}

// The parts get this share of the whole deadline; the rest is for combining their data.
const SHARE_OF_PARTS = 0.9;

const CLOSED = 'The monitor was closed.';

/** Reads of all sources. */
export type Reader = ReturnType<typeof createReader>;

/** Creates the reader of one router. */
export function createReader(options: ReaderOptions) {
  const state: ReaderState = {
    options,
    parts: new Map(),
    open: new Set(),
    inner: new Set(),
    innerReads: 0,
    closed: false,
  };
  return {
    /**
     * Reads a source. Synchronous (no promise) when the source is.
     *
     * @param onLeave reports when the client disconnects. Default: it never does
     * @throws MonitorError with the error code of the response, or `CLIENT_GONE`
     */
    read: <Raw, Result>(task: ReadTask<Raw, Result>, onLeave?: OnLeave): Awaitable<Result> =>
      begin(state, task, onLeave, state.open),
    /** Ends every read as `overloaded`, and refuses later ones. */
    close(): void {
      state.closed = true;
      const error = new MonitorError('overloaded', CLOSED);
      for (const read of [...state.open, ...state.inner]) read.cancel(error);
    },
  };
}

/** Joins the same read if it is in flight, or starts it. */
function begin<Raw, Result>(
  state: ReaderState,
  task: ReadTask<Raw, Result>,
  onLeave: OnLeave | undefined,
  among: Set<TimedRead<unknown>>,
): Awaitable<Result> {
  if (state.closed) throw new MonitorError('overloaded', CLOSED);
  const { report } = state.options;
  const { part, call, timeoutMs = state.options.timeoutMs } = task;
  const reads = readsOf(state, part);
  const id = `${call} ${task.key}`;
  // The same part, call and key have the same result type.
  const shared = reads.calls.join(id, onLeave) as Promise<Result> | undefined;
  if (shared !== undefined) return shared;
  if (isBlocked(reads)) throw new MonitorError('source_unavailable');
  if (among === state.open && !task.urgent && isFull(state, reads)) throw new MonitorError('overloaded');
  const aborting = createContext(task.client);
  const result = prepareFanOut(state, task, aborting);
  let raw: Awaitable<Raw>;
  let isPending: boolean;
  // Calls of the parts of a combined part come here, too.
  if (partsOf(part).length === 1) state.options.onCall?.(part, call);
  try {
    raw = task.read(aborting.context);
    isPending = isThenable(raw);
  } catch (error) {
    throw failureOf({ part, call, report }, error);
  }
  let map = (data: Raw): Awaitable<Result> => mapRaw(task, data, result, aborting.context, report);
  if (!isPending) {
    const made = map(raw as Raw);
    if (!isThenable(made)) return made;
    // The read handles a failure, but begins to wait in a moment only.
    made.then(undefined, () => {});
    map = () => made;
  }
  const read = { part, call, timeoutMs, reads, among, report, abort: aborting.abort, raw, map };
  return reads.calls.run(id, () => startTimedRead(read), onLeave) as Promise<Result>;
}

function readsOf({ parts }: ReaderState, part: SourcePart): PartReads {
  const reads = parts.get(part) ?? { calls: createSingleFlight(), abandoned: new Set(), triedAt: 0 };
  parts.set(part, reads);
  return reads;
}

function isFull({ open, options }: ReaderState, { calls }: PartReads): boolean {
  return open.size >= options.concurrency || calls.size >= options.concurrency / 2;
}

/** Sets the fan-out of a combined part. Each part has a deadline before that of the whole read. */
function prepareFanOut<Raw>(
  state: ReaderState,
  task: ReadTask<Raw, unknown>,
  { context, onAbort }: ReturnType<typeof createContext>,
): ReadResult {
  if (partsOf(task.part).length === 1) return resultOf(task.part);
  const { timeoutMs, report, lastAnswers } = state.options;
  const deadline = performance.now() + (task.timeoutMs ?? timeoutMs) * SHARE_OF_PARTS;
  const readPart = <Part>({ part, call, read, count }: PartRead<Part>): Awaitable<Part> => {
    state.innerReads += 1;
    const left = Math.max(1, Math.floor(deadline - performance.now()));
    const map = (raw: Part): Part => {
      count(raw);
      return raw;
    };
    // A unique key: the whole read is shared, not the reads of its parts.
    const key = `part ${state.innerReads}`;
    const inner = { part, call, key, client: task.client, timeoutMs: left, read, map };
    return begin(state, inner, onAbort, state.inner);
  };
  const kept = task.keepsLast ? lastAnswers : null;
  const { fanOut, result } = createFanOut(task.part, task.key, kept, report, readPart);
  context.fanOut = fanOut;
  return result;
}

/** Makes the result. Invalid data is answered as `source_invalid`, and reported to the host. */
function mapRaw<Raw, Result>(
  task: ReadTask<Raw, Result>,
  raw: Raw,
  result: ReadResult,
  waiter: Waiter,
  report: Report,
): Awaitable<Result> {
  const fail = (error: unknown): never => {
    const isKnown = isMonitorError(error) && error.code !== 'source_invalid';
    if (isKnown || waiter.signal.aborted) throw error;
    report(error, { code: 'source_invalid', source: task.part.name, call: task.call });
    throw new MonitorError('source_invalid');
  };
  try {
    const made = task.map(raw, result, waiter);
    return isThenable(made) ? made.then(undefined, fail) : made;
  } catch (error) {
    return fail(error);
  }
}

/** Passed to the source; `fanOut` is set for combined parts. `client` identifies the client to the scheduler. */
type OwnContext = ReadContext & { fanOut?: FanOut; readonly client: string | undefined };

/**
 * Creates a read context that can be aborted. The AbortController costs more than a read from memory, so it is created
 * on first use.
 *
 * @param client see {@link ReadTask.client}
 */
function createContext(client?: string) {
  let controller: AbortController | null = null;
  let aborted = false;
  const listeners = new Set<() => void>();
  const context: OwnContext = {
    client,
    get signal() {
      controller ??= new AbortController();
      if (aborted) controller.abort();
      return controller.signal;
    },
  };
  const onAbort: OnLeave = (listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return {
    context,
    onAbort,
    abort(): void {
      aborted = true;
      controller?.abort();
      for (const listener of [...listeners]) listener();
    },
  };
}

/** Time between two tries, in milliseconds. */
const RETRY_MS = 1_000;
/** A part with this many abandoned reads is read only to try whether it answers again. */
const MOST_ABANDONED = 3;

/** Whether a part must not be read now. When it may be tried again, this read is the try. */
function isBlocked(reads: PartReads): boolean {
  if (reads.abandoned.size < MOST_ABANDONED) return false;
  const now = performance.now();
  if (now - reads.triedAt < RETRY_MS) return true;
  reads.triedAt = now;
  return false;
}

/** Notes a read that missed its deadline. Its promise may never settle, so only the latest are kept. */
function abandon(reads: PartReads, read: object): void {
  const { abandoned } = reads;
  const [oldest] = abandoned;
  if (oldest !== undefined && abandoned.size >= MOST_ABANDONED) abandoned.delete(oldest);
  abandoned.add(read);
  reads.triedAt = performance.now();
}

/** A call in progress, until its result is made. */
interface TimedRead<Result> extends Call<Result> {
  /** Nobody waits any more: the call is aborted, and its deadline still runs. */
  abandon(): void;
  /** Ends the read with this error; a later answer of the source is ignored. */
  cancel(error: MonitorError): void;
}

interface PendingRead<Raw, Result> extends Pick<ReadTask<Raw, Result>, 'part' | 'call'> {
  readonly timeoutMs: number;
  /** The data of the source. */
  readonly raw: Awaitable<Raw>;
  /** Makes the result from the data of the source. A thrown error is the outcome. */
  map(raw: Raw): Awaitable<Result>;
  abort(): void;
  readonly reads: PartReads;
  /** The set of reads that this one belongs to until it ends. */
  readonly among: Set<TimedRead<unknown>>;
  readonly report: Report;
}

/** Starts the deadline of a call, and waits for the source. */
function startTimedRead<Raw, Result>(options: PendingRead<Raw, Result>): TimedRead<Result> {
  const { part, reads, among, abort } = options;
  let stage: 'asked' | 'answered' | 'ended' = 'asked';
  let isDeserted = false;
  const { result, resolve, reject } = openPromise<Result>();
  // After a turn that the host held up, all timers are due at once, in no useful order: what has arrived meanwhile, and
  // the deadlines of the parts of a read, come first.
  const turnsLeft = partsOf(part).length > 1 ? 2 : 1;
  const timer = setTimeout(onTimer, options.timeoutMs, turnsLeft).unref();

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
    // An async function, so that a thrown error is an outcome, too.
    const make = async (): Promise<Result> => {
      if (isDeserted) throw WAITER_LEFT;
      reads.abandoned.clear();
      return options.map(raw);
    };
    make().then(
      (made) => end(() => resolve(made)),
      (error) => fail(() => error),
    );
  }

  /** A source that is late has timed out. A result that is late has waited for its turn: too much is asked. */
  function onTimer(turns: number): void {
    if (stage === 'ended') return;
    if (turns > 0) setImmediate(onTimer, turns - 1);
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
  new Promise<Raw>((adopt) => adopt(options.raw))
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

/** The error for clients, with our own message. The original error is reported to the host only. */
function failureOf(
  { part, call, report }: Pick<PendingRead<never, unknown>, 'part' | 'call' | 'report'>,
  error: unknown,
): MonitorError {
  const code = codeOf(error);
  // The error of a combined part comes from one of its parts, and has been reported there.
  const isReported = code === 'task_not_found' || (isMonitorError(error) && partsOf(part).length > 1);
  if (!isReported) report(error, { code, source: part.name, call });
  return new MonitorError(code);
}

/** The error code of the response when a source has failed: it may not choose those of `authorize` and the exporter. */
function codeOf(error: unknown): MonitorErrorCode {
  const code = isMonitorError(error) ? error.code : null;
  return code !== null && OF_THE_REQUEST.has(code) ? code : sourceErrorCode(code);
}
