import { settleInTime } from '../waiting.ts';
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
 * Limits the wait for a reply of RabbitMQ, see {@link settleInTime}.
 *
 * @throws AmqpError with the code `TimeoutError`
 */
export function withAmqpDeadline<T>(
  promise: Promise<T>,
  { signal, timeoutMs = DEFAULT_MS }: AmqpLimits = {},
): Promise<T> {
  return settleInTime(promise, { signal, ms: timeoutMs }, () => amqpError('TimeoutError'));
}
