import { silence } from './redis-errors.ts';

/**
 * The promise, or a rejection as soon as the time is over or nobody waits any more. What the promise
 * says later is heard by nobody, and is no unhandled rejection.
 *
 * @param ms without it, only the signal ends the waiting
 */
export function unlessLate<T>(promise: Promise<T>, signal: AbortSignal | undefined, ms?: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(silence());
    const timer = ms === undefined ? undefined : setTimeout(leave, ms).unref();
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
    });
  });
}
