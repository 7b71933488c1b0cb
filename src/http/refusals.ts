/**
 * Delays refusals. Otherwise a client that ignores `Retry-After` and immediately repeats its request would keep the
 * host busy with refusals alone.
 */

/** Time between an overload and its answer, in milliseconds. */
const DELAY_MS = 100;
/** Maximum number of waiting refusals; further ones are sent immediately, to limit the memory. */
const MOST_WAITING = 1_000;

/** The refusals of one router. */
export interface Refusals {
  /**
   * Sends a refusal later.
   *
   * @param onError called with what `send` throws
   */
  delay(send: () => void, onError: (error: unknown) => void): void;
}

/** Creates the refusals of one router, without waiting ones. */
export function createRefusals(): Refusals {
  let waiting = 0;
  return {
    delay(send, onError) {
      if (waiting >= MOST_WAITING) return send();
      waiting += 1;
      setTimeout(() => {
        waiting -= 1;
        try {
          send();
        } catch (error) {
          onError(error);
        }
      }, DELAY_MS);
    },
  };
}
