/** Waits with a limit. They do not keep the process alive, and only {@link settleInTime} rejects. */
import { setMaxListeners } from 'node:events';

/** What ends a wait early. */
export interface WaitLimits {
  /** In milliseconds. */
  readonly ms?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves when the promise has settled, the time is up or the signal is aborted. */
export function waitFor(promise: Promise<unknown>, limits: WaitLimits): Promise<void> {
  return wait(promise, limits);
}

/**
 * A signal that is aborted after this many milliseconds, or with `other`. `AbortSignal.any` of a signal of
 * `AbortSignal.timeout` would not do: Node 20 collects that signal as garbage, and nothing is aborted.
 */
export function signalWithin(ms: number, other: AbortSignal): AbortSignal {
  const within = new AbortController();
  startLimits({ ms, signal: other }, () =>
    within.abort(other.aborted ? other.reason : new DOMException('The time is up.', 'TimeoutError')),
  );
  return within.signal;
}

/** Resolves after this many milliseconds, or when the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return wait(null, { ms, signal });
}

/**
 * Limits the wait for a promise, because the clients of servers wait as long as the server is silent. A later
 * rejection of the promise is ignored and never unhandled.
 *
 * @param late creates the error for when the time is up or the signal is aborted
 * @throws the reason of the promise's rejection, or the error of `late`
 */
export function settleInTime<T>(promise: Promise<T>, limits: WaitLimits, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = startLimits(limits, () => reject(late()));
    promise.then(resolve, reject).finally(stop);
  });
}

function wait(promise: Promise<unknown> | null, limits: WaitLimits): Promise<void> {
  return new Promise((resolve) => {
    const stop = startLimits(limits, resolve);
    promise?.then(end, end);
    function end(): void {
      stop();
      resolve();
    }
  });
}

/**
 * Calls `onEnd` when the time is up or the signal is aborted.
 *
 * @returns a function that cancels both
 */
function startLimits({ ms, signal }: WaitLimits, onEnd: () => void): () => void {
  const timer = ms === undefined ? undefined : setTimeout(end, ms).unref();
  if (signal !== undefined) {
    // One answer makes many reads of a server or a store; Node would warn of a leak.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  }
  return stop;

  function stop(): void {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }

  function end(): void {
    stop();
    onEnd();
  }
}
