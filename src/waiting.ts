/** Waits that end in time. They never reject and keep no process alive. */
import { setMaxListeners } from 'node:events';

/** What ends a wait early. */
export interface WaitLimits {
  /** In milliseconds. */
  readonly ms?: number;
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

function wait(promise: Promise<unknown> | null, { ms, signal }: WaitLimits): Promise<void> {
  return new Promise((resolve) => {
    const timer = ms === undefined ? undefined : setTimeout(end, ms).unref();
    if (signal !== undefined) {
      // One answer takes many reads of a store; Node would warn of a leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', end, { once: true });
    }
    promise?.then(end, end);
    if (signal?.aborted) end();
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    }
  });
}
