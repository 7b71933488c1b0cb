/** Waits that end in time. They keep no process alive, and only {@link settleInTime} rejects. */
import { setMaxListeners } from 'node:events';

/** What ends a wait early. */
export interface WaitLimits {
  /** In milliseconds. */
  readonly ms?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves once the promise is settled, the time is over or the signal is aborted. */
export function waitFor(promise: Promise<unknown>, limits: WaitLimits): Promise<void> {
  return wait(promise, limits);
}

/** Resolves after this many milliseconds, or once the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return wait(null, { ms, signal });
}

/**
 * Limits the wait for a promise, because clients of servers wait for as long as the server is silent. A later
 * rejection of the promise is ignored and never unhandled.
 *
 * @param late makes the error for when the time is over or the signal is aborted
 * @throws what the promise rejects with, or the error for being late
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
 * Calls `onEnd` once the time is over or the signal is aborted.
 *
 * @returns stops waiting for both
 */
function startLimits({ ms, signal }: WaitLimits, onEnd: () => void): () => void {
  const timer = ms === undefined ? undefined : setTimeout(end, ms).unref();
  if (signal !== undefined) {
    // One answer takes many reads of a server or a store; Node would warn of a leak.
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
