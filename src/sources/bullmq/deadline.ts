import { setMaxListeners } from 'node:events';
import { QueueReadError, SILENT } from './redis-problems.ts';

/**
 * The promise, or a rejection as soon as the time is over or nobody waits any more: clients keep a command
 * that was written for as long as Redis is silent. What the promise says later is heard by nobody, and is
 * no unhandled rejection.
 */
export function unlessLate<T>(promise: Promise<T>, signal: AbortSignal | undefined, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(new QueueReadError(SILENT));
    const timer = setTimeout(leave, ms).unref();
    if (signal?.aborted) leave();
    if (signal !== undefined) {
      // One read of a page is many of Redis; Node would warn of a leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', leave, { once: true });
    }
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
    });
  });
}
