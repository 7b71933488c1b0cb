/** What is true of a task, as numbers. Times in milliseconds, NaN where unknown; strings interned, 0 where unknown. */
export interface Folded {
  /** As in `KIND_ORDER`. */
  kind: number;
  /** Interned. */
  state: number;
  timestamp: number;
  worker: number;
  sent: number;
  received: number;
  started: number;
  finished: number;
  /** Seconds; of a last attempt that succeeded. */
  runtime: number;
  /** −1 when not reported. */
  retries: number;
}
