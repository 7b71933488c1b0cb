import { MonitorError } from '../errors.ts';
import { createLruCache, type LruCache } from '../lru-cache.ts';
import { createSingleFlight, leaveOnAbort, type SingleFlight, WAITER_LEFT } from '../single-flight.ts';

/** A piece of work that can be aborted. */
export interface Call<T> {
  readonly result: Promise<T>;
  abort(error: MonitorError): void;
}

/** Options of {@link createSharedCalls}. */
export interface SharedCallsOptions<T> {
  /** Maximum number of concurrent calls; further calls are rejected with `overloaded`. */
  readonly mostCalls: number;
  /** How long after its start a call's result answers later requests, in milliseconds. */
  readonly keepMs: number;
  /** Maximum number of cached results; the least recently used is evicted first. */
  readonly mostKept: number;
  /** Called with each outcome, except for aborted calls. */
  readonly onOutcome: (outcome: T | MonitorError) => void;
}

/** Calls that are shared by all concurrent requests for the same key. */
export interface SharedCalls<T> {
  /**
   * Joins the call in progress with this key, or starts one.
   *
   * @param signal leaves the call. The call itself is aborted when its last waiter has left
   */
  run(key: string, start: () => Call<T>, signal?: AbortSignal): Promise<T>;
  /** Aborts all calls with `overloaded` and rejects later ones. */
  close(): void;
}

interface Kept<T> {
  readonly value: T;
  /** Monotonic milliseconds. */
  readonly until: number;
  /** Frees the memory. */
  readonly timer: NodeJS.Timeout;
}

interface State<T> {
  readonly options: SharedCallsOptions<T>;
  readonly calls: SingleFlight<T>;
  /** Functions that abort the calls in progress. */
  readonly aborts: Set<(error: MonitorError) => void>;
  readonly kept: LruCache<Kept<T>>;
  closed: boolean;
}

const LEFT = 'No client waits for this answer any more.';
const CLOSED = 'The monitor was closed.';

/** Creates an empty set of shared calls. */
export function createSharedCalls<T>(options: SharedCallsOptions<T>): SharedCalls<T> {
  const state: State<T> = {
    options,
    calls: createSingleFlight<T>(),
    aborts: new Set(),
    kept: createLruCache<Kept<T>>({ entries: options.mostKept }),
    closed: false,
  };
  return {
    run: (key, start, signal) => run(state, key, start, signal),
    close: () => close(state),
  };
}

async function run<T>(
  state: State<T>,
  key: string,
  start: () => Call<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { calls, kept, options } = state;
  if (state.closed) throw new MonitorError('overloaded', CLOSED);
  if (signal?.aborted) throw new MonitorError('exporter_unavailable', LEFT);
  const cached = kept.get(key);
  // Check the time too: the timer only frees the memory, and on a busy machine it fires late.
  if (cached !== undefined && performance.now() < cached.until) return cached.value;
  if (!calls.has(key) && calls.size >= options.mostCalls) throw new MonitorError('overloaded');
  try {
    return await calls.run(key, () => launch(state, key, start), signal && leaveOnAbort(signal));
  } catch (error) {
    throw error === WAITER_LEFT ? new MonitorError('exporter_unavailable', LEFT) : error;
  }
}

function launch<T>(state: State<T>, key: string, start: () => Call<T>) {
  const { options, aborts } = state;
  const startedAt = performance.now();
  const call = start();
  let isAborted = false;
  const abort = (error: MonitorError): void => {
    isAborted = true;
    aborts.delete(abort);
    call.abort(error);
  };
  aborts.add(abort);
  // The waiters handle a failure. Handle it here too, so that this second promise is not an unhandled
  // rejection.
  call.result.then(
    (value) => {
      aborts.delete(abort);
      keep(state, key, value, startedAt + options.keepMs);
      options.onOutcome(value);
    },
    (error: MonitorError) => {
      aborts.delete(abort);
      if (!isAborted) options.onOutcome(error);
    },
  );
  return {
    result: call.result,
    abandon: () => abort(new MonitorError('exporter_unavailable', LEFT)),
  };
}

function keep<T>({ kept, closed }: State<T>, key: string, value: T, until: number): void {
  const forMs = until - performance.now();
  if (closed || forMs <= 0) return;
  clearTimeout(kept.get(key)?.timer);
  // A timer can fire slightly early: one more millisecond ensures that the entry has expired by then.
  const timer = setTimeout(() => dropExpired(kept, key), Math.ceil(forMs) + 1);
  timer.unref();
  kept.set(key, { value, until, timer });
}

/** The entry of the key may be newer than the one for which the timer was started. */
function dropExpired<T>(kept: LruCache<Kept<T>>, key: string): void {
  const entry = kept.get(key);
  if (entry !== undefined && entry.until <= performance.now()) kept.delete(key);
}

function close<T>(state: State<T>): void {
  state.closed = true;
  for (const { timer } of state.kept.values()) clearTimeout(timer);
  state.kept.clear();
  for (const abort of [...state.aborts]) abort(new MonitorError('overloaded', CLOSED));
}
