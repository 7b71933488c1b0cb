import { MonitorError } from '../errors.ts';

/** A piece of work that can be aborted. */
export interface Call<T> {
  readonly result: Promise<T>;
  abort(error: MonitorError): void;
}

/** Options of {@link createSharedCalls}. */
export interface SharedCallsOptions<T> {
  /** Maximum number of concurrent calls; one more is refused as `overloaded`. */
  readonly mostCalls: number;
  /** How long after its start a call's result answers later requests, in milliseconds. */
  readonly keepMs: number;
  /** Maximum number of cached results; the oldest is evicted first. */
  readonly mostKept: number;
  /** Called with each outcome, except for aborted calls. */
  readonly onOutcome: (outcome: T | MonitorError) => void;
}

/** Calls that are shared by all concurrent requests for the same key. */
export interface SharedCalls<T> {
  /**
   * Joins the in-flight call of this key, or starts one.
   *
   * @param signal leaves the call. The call itself is aborted when its last waiter has left
   */
  run(key: string, start: () => Call<T>, signal?: AbortSignal): Promise<T>;
  /** Aborts all calls as `overloaded` and refuses later ones. */
  close(): void;
}

interface Flight<T> extends Call<T> {
  waiters: number;
}

const LEFT = 'Nobody waits for this answer any more.';
const CLOSED = 'The monitor was closed.';

/** Creates an empty set of shared calls. */
export function createSharedCalls<T>(options: SharedCallsOptions<T>): SharedCalls<T> {
  const flights = new Map<string, Flight<T>>();
  const kept = new Map<
    string,
    { readonly value: T; readonly until: number; readonly timer: NodeJS.Timeout }
  >();
  let closed = false;

  function launch(key: string, start: () => Call<T>): Flight<T> {
    const startedAt = performance.now();
    const call = start();
    const flight: Flight<T> = { ...call, waiters: 0 };
    flights.set(key, flight);
    // The waiters handle a failure. Handle it here too, so that this second promise is not an unhandled
    // rejection.
    call.result.then(
      (value) => {
        leave(key, flight);
        keep(key, value, startedAt + options.keepMs);
        options.onOutcome(value);
      },
      (error: MonitorError) => {
        if (leave(key, flight)) options.onOutcome(error);
      },
    );
    return flight;
  }

  /** Removes an in-flight call; false when it was aborted before. */
  function leave(key: string, flight: Flight<T>): boolean {
    return flights.get(key) === flight && flights.delete(key);
  }

  function keep(key: string, value: T, until: number): void {
    const forMs = until - performance.now();
    if (closed || forMs <= 0) return;
    drop(key);
    const timer = setTimeout(() => kept.delete(key), forMs);
    timer.unref();
    kept.set(key, { value, until, timer });
    for (const oldest of kept.keys()) {
      if (kept.size <= options.mostKept) break;
      drop(oldest);
    }
  }

  function drop(key: string): void {
    clearTimeout(kept.get(key)?.timer);
    kept.delete(key);
  }

  function wait(key: string, flight: Flight<T>, signal: AbortSignal | undefined): Promise<T> {
    flight.waiters += 1;
    if (signal === undefined) return flight.result;
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => {
        reject(new MonitorError('exporter_unavailable', LEFT));
        flight.waiters -= 1;
        if (flight.waiters === 0 && leave(key, flight))
          flight.abort(new MonitorError('exporter_unavailable', LEFT));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      flight.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  return {
    async run(key, start, signal) {
      if (closed) throw new MonitorError('overloaded', CLOSED);
      if (signal?.aborted) throw new MonitorError('exporter_unavailable', LEFT);
      const fresh = kept.get(key);
      // Check the time too: the timer only frees the memory, and on a busy machine it fires late.
      if (fresh !== undefined && performance.now() < fresh.until) return fresh.value;
      const running = flights.get(key);
      if (running !== undefined) return wait(key, running, signal);
      if (flights.size >= options.mostCalls) throw new MonitorError('overloaded');
      return wait(key, launch(key, start), signal);
    },
    close() {
      closed = true;
      for (const key of [...kept.keys()]) drop(key);
      const open = [...flights.values()];
      flights.clear();
      for (const flight of open) flight.abort(new MonitorError('overloaded', CLOSED));
    },
  };
}
