import { setMaxListeners } from 'node:events';
import { redisError } from './problems.ts';

/**
 * Limits the wait for a promise, because clients keep a command that was written for as long as Redis is
 * silent. A later rejection of the promise is ignored and never unhandled.
 *
 * @param ms in milliseconds; without it, only the signal ends the wait
 * @throws RedisError with the code `TimeoutError`
 */
export function withDeadline<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  ms?: number,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(redisError('TimeoutError'));
    const timer = ms === undefined ? undefined : setTimeout(giveUp, ms).unref();
    if (signal?.aborted) giveUp();
    if (signal !== undefined) {
      // One page takes many reads of Redis; Node would warn of a leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', giveUp, { once: true });
    }
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    });
  });
}
