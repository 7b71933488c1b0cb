import { settleInTime } from '../waiting.ts';
import { redisError } from './problems.ts';

/**
 * Limits the wait for a reply of Redis, see {@link settleInTime}.
 *
 * @param ms in milliseconds; without it, only the signal ends the wait
 * @throws RedisError with the code `TimeoutError`
 */
export function withDeadline<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  ms?: number,
): Promise<T> {
  return settleInTime(promise, { signal, ms }, () => redisError('TimeoutError'));
}
