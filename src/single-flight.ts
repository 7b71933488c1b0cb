/** Single flight: concurrent requests for the same work share one call. */

/** Registers a listener that is called when a waiter leaves; returns a function that removes it. */
export type OnLeave = (listener: () => void) => () => void;

/** The rejection of a waiter that left before the result. */
export const WAITER_LEFT: Error = new Error('The waiter left before the result.');

/** Work that has begun. */
export interface Call<Result> {
  readonly result: Promise<Result>;
  /** Called when the last waiter leaves before the result. A later request starts a new call. */
  abandon?(): void;
}

/** Calls in progress, by key. */
export type SingleFlight<Result> = ReturnType<typeof createSingleFlight<Result>>;

interface PendingCall<Result> extends Call<Result> {
  waiters: number;
}

/** Creates a single flight without calls. */
export function createSingleFlight<Result>() {
  const calls = new Map<string, PendingCall<Result>>();

  function begin(key: string, call: Call<Result>): PendingCall<Result> {
    const pending: PendingCall<Result> = { result: call.result, abandon: () => call.abandon?.(), waiters: 0 };
    const end = (): void => void remove(key, pending);
    calls.set(key, pending);
    // Each waiter has its own promise, so a failure of this branch needs no handler.
    pending.result.then(end, end);
    return pending;
  }

  /** Returns false if the result has already arrived or the call was already abandoned. */
  function remove(key: string, pending: PendingCall<Result>): boolean {
    return calls.get(key) === pending && calls.delete(key);
  }

  function wait(key: string, pending: PendingCall<Result>, onLeave: OnLeave | undefined): Promise<Result> {
    pending.waiters += 1;
    if (onLeave === undefined) return pending.result;
    return new Promise((resolve, reject) => {
      const stay = onLeave(() => {
        reject(WAITER_LEFT);
        pending.waiters -= 1;
        if (pending.waiters === 0 && remove(key, pending)) pending.abandon?.();
      });
      pending.result.finally(stay).then(resolve, reject);
    });
  }

  return {
    /** Number of calls in progress. */
    get size(): number {
      return calls.size;
    },
    /** Whether a call with this key is in progress. */
    has: (key: string): boolean => calls.has(key),
    /**
     * Waits for the call with this key; `undefined` if there is none.
     *
     * @param onLeave registers a listener for when this waiter leaves: its promise then rejects with
     *   {@link WAITER_LEFT}. Default: it never leaves
     */
    join(key: string, onLeave?: OnLeave): Promise<Result> | undefined {
      const pending = calls.get(key);
      return pending && wait(key, pending, onLeave);
    },
    /** The same, but starts the call if there is none. */
    run: (key: string, start: () => Call<Result>, onLeave?: OnLeave): Promise<Result> =>
      wait(key, calls.get(key) ?? begin(key, start()), onLeave),
  };
}

/**
 * Wraps work so that calls while it runs share its result, and so do calls within `reuseMs` after it
 * succeeded.
 *
 * @param reuseMs in milliseconds. Default 0: only calls while it runs
 */
export function shareCalls<Result>(work: () => Promise<Result>, reuseMs = 0): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  let latest: { readonly result: Result; readonly until: number } | null = null;

  async function start(): Promise<Result> {
    try {
      const result = await work();
      if (reuseMs > 0) latest = { result, until: performance.now() + reuseMs };
      return result;
    } finally {
      running = null;
    }
  }

  return () => {
    if (latest !== null && performance.now() < latest.until) return Promise.resolve(latest.result);
    running ??= start();
    return running;
  };
}

/** Work that a signal aborts when the last waiter has left. */
export function abortableCall<Result>(work: (signal: AbortSignal) => Promise<Result>): Call<Result> {
  const controller = new AbortController();
  return { result: work(controller.signal), abandon: () => controller.abort(WAITER_LEFT) };
}

/** A waiter that leaves when a signal aborts. */
export function leaveOnAbort(signal: AbortSignal): OnLeave {
  return (listener) => {
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
    return () => signal.removeEventListener('abort', listener);
  };
}
