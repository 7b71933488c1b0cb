import { isMonitorError, MonitorError, type MonitorErrorCode } from '../errors.ts';
import type { LruCache } from '../lru-cache.ts';
import type { Waiter } from '../scheduler.ts';
import { createSingleFlight, type OnLeave } from '../single-flight.ts';
import { type FanOut, type PartRead, partsOf, type Reply } from '../source/combined-part.ts';
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import { isThenable } from '../values.ts';
import {
  type Failure,
  freshnessOf,
  hasData,
  type ReadResult,
  resultOf,
  sourceErrorCode,
} from './freshness.ts';
import type { Report } from './report.ts';
import { failureOf, MOST_ABANDONED, type PartReads, startTimedRead, type TimedRead } from './timed-read.ts';

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

// The parts get this share of the whole deadline; the rest is for combining their data.
const SHARE_OF_PARTS = 0.9;

const CLOSED = 'The monitor was closed.';

/** Creates the reader of one router. */
export function createReader(options: ReaderOptions): Reader {
  const state: ReaderState = {
    options,
    parts: new Map(),
    open: new Set(),
    inner: new Set(),
    innerReads: 0,
    closed: false,
  };
  return {
    read: (task, onLeave) => begin(state, task, onLeave, state.open),
    close() {
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
  const map = (data: Raw): Awaitable<Result> => mapRaw(task, data, result, aborting.context, report);
  const { abort } = aborting;
  const run = <Data>(pending: PromiseLike<Data>, mapData: (data: Data) => Awaitable<Result>) => {
    const read = { part, call, timeoutMs, reads, among, report, abort, pending, map: mapData };
    return reads.calls.run(id, () => startTimedRead(read), onLeave) as Promise<Result>;
  };
  if (isPending) return run(raw as PromiseLike<Raw>, map);
  const made = map(raw as Raw);
  if (!isThenable(made)) return made;
  const promise = Promise.resolve(made);
  // The read handles a failure, but begins to wait in a moment only.
  promise.catch(() => {});
  return run(NO_WAIT, () => promise);
}

const NO_WAIT = Promise.resolve(undefined);

function readsOf({ parts }: ReaderState, part: SourcePart): PartReads {
  const reads = parts.get(part) ?? createPartReads();
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
  const { fanOut, result } = createFanOut(task.part, {
    key: task.key,
    lastAnswers: task.keepsLast ? lastAnswers : null,
    report,
    read: readPart,
  });
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

/** Creates an empty record. */
function createPartReads(): PartReads {
  return { calls: createSingleFlight(), abandoned: new Set(), triedAt: 0 };
}

/** Whether a part must not be read now. When it may be tried again, this read is the try. */
function isBlocked(reads: PartReads): boolean {
  if (reads.abandoned.size < MOST_ABANDONED) return false;
  const now = performance.now();
  if (now - reads.triedAt < RETRY_MS) return true;
  reads.triedAt = now;
  return false;
}

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

/** Reads of all sources. */
export interface Reader {
  /**
   * Reads a source. Synchronous (no promise) when the source is.
   *
   * @param onLeave reports when the client disconnects. Default: it never does
   * @throws MonitorError with the error code of the response, or `CLIENT_GONE`
   */
  read<Raw, Result>(task: ReadTask<Raw, Result>, onLeave?: OnLeave): Awaitable<Result>;
  /** Ends every read as `overloaded`, and refuses later ones. */
  close(): void;
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
const OF_THE_REQUEST: ReadonlySet<MonitorErrorCode> = new Set<MonitorErrorCode>([
  'invalid_parameter',
  'task_not_found',
  'source_not_configured',
]);

// Approximate size of a list row; larger items of a host are not measured.
const ITEM_BYTES = 1_024;

interface FanOutOptions {
  /** Key of the whole read. */
  readonly key: string;
  /** `null`: last data is not kept. */
  readonly lastAnswers: LruCache<LastAnswer> | null;
  readonly report: Report;
  /** Reads one part, with a deadline and limits. */
  read<Raw>(ask: PartRead<Raw>): Awaitable<Raw>;
}

/** Creates the fan-out of one read. @param whole the combined part */
function createFanOut(
  whole: SourcePart,
  { key, lastAnswers, report, read }: FanOutOptions,
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
