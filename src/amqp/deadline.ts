import { setMaxListeners } from 'node:events';
import { amqpError } from './problems.ts';

/** How long to wait. */
export interface AmqpLimits {
  /** Gives up waiting when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Gives up waiting after this many milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_MS = 5_000;

/**
 * Limits the wait for a promise: amqplib waits for as long as RabbitMQ is silent. A later rejection of the promise
 * is ignored and never unhandled.
 *
 * @throws AmqpError with the code `TimeoutError`
 */
export function withAmqpDeadline<T>(
  promise: Promise<T>,
  { signal, timeoutMs = DEFAULT_MS }: AmqpLimits = {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(amqpError('TimeoutError'));
    const timer = setTimeout(giveUp, timeoutMs).unref();
    if (signal?.aborted) giveUp();
    if (signal !== undefined) {
      setMaxListeners(0, signal);
      signal.addEventListener('abort', giveUp, { once: true });
    }
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    });
  });
}
