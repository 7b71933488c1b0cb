/** Single flight: work that is under way is shared by all who ask for it, instead of being started again. */

/** Registers a listener for the moment at which a waiter leaves; returns a function that takes it back. */
export type OnLeave = (listener: () => void) => () => void;

/** A waiter that leaves when the signal is aborted; without a signal, one that stays. */
export function onAbort(signal: AbortSignal | undefined): OnLeave | undefined {
  if (signal === undefined) return undefined;
  return (listener) => {
    signal.addEventListener('abort', listener, { once: true });
    return () => signal.removeEventListener('abort', listener);
  };
}

/** What a waiter that left before the result is rejected with. */
export const WAITER_LEFT: Error = new Error('The waiter left before the result.');

/** Work that has begun. */
export interface Call<Result> {
  readonly result: Promise<Result>;
  /** Called when the last waiter has left before the result. Whoever asks afterwards starts anew. */
  abandon?(): void;
}

/** Work under way, by key. */
export interface SingleFlight<Result> {
  /** How many calls are under way. */
  readonly size: number;
  /** Whether a call of this key is under way. */
  has(key: string): boolean;
  /**
   * Waits for the call of this key; starts it when none is under way.
   *
   * @param onLeave when this waiter leaves: its promise is then rejected with {@link WAITER_LEFT}.
   *   Left out: it stays.
   */
  run(key: string, start: () => Call<Result>, onLeave?: OnLeave): Promise<Result>;
}

interface Flight<Result> extends Call<Result> {
  waiters: number;
}

export function createSingleFlight<Result>(): SingleFlight<Result> {
  const flights = new Map<string, Flight<Result>>();

  function begin(key: string, call: Call<Result>): Flight<Result> {
    const flight: Flight<Result> = { result: call.result, abandon: () => call.abandon?.(), waiters: 0 };
    const end = (): void => void remove(key, flight);
    flights.set(key, flight);
    // Waiters have promises of their own: a failure that this branch sees is not unhandled.
    flight.result.then(end, end);
    return flight;
  }

  /** False when the result has come, or the flight was abandoned before. */
  function remove(key: string, flight: Flight<Result>): boolean {
    return flights.get(key) === flight && flights.delete(key);
  }

  function wait(key: string, flight: Flight<Result>, onLeave: OnLeave): Promise<Result> {
    return new Promise((resolve, reject) => {
      const stay = onLeave(() => {
        reject(WAITER_LEFT);
        flight.waiters -= 1;
        if (flight.waiters === 0 && remove(key, flight)) flight.abandon?.();
      });
      flight.result.finally(stay).then(resolve, reject);
    });
  }

  return {
    get size() {
      return flights.size;
    },
    has: (key) => flights.has(key),
    run(key, start, onLeave) {
      const flight = flights.get(key) ?? begin(key, start());
      flight.waiters += 1;
      return onLeave === undefined ? flight.result : wait(key, flight, onLeave);
    },
  };
}

/**
 * Wraps one piece of work: calls while it runs share its result, and so do calls within `reuseMs` after it
 * ended well.
 *
 * @param reuseMs in milliseconds. Default 0: only calls while it runs.
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
