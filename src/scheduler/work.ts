/** What the scheduler runs. */

/** Long work. It yields wherever it may be interrupted: at least once in a millisecond. */
export type Steps<Result> = Generator<void, Result, void>;

/** The clients that wait for a piece of work. The context of a read is one. */
export interface Waiter {
  /** Aborts when the last client has left, or when the time limit has passed. The work then stops. */
  readonly signal: AbortSignal;
  /** Identifies the client. Default: all clients without a name count as one. */
  readonly client?: string | undefined;
}

/** A piece of work that waits for its next slice. */
export interface Work {
  readonly kind: string;
  readonly steps: Steps<unknown>;
  /** Time used so far, in milliseconds. */
  usedMs: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Takes the work out of its queue. */
  leave(): void;
}

/** Queues of work, by kind and client. The first queue has the next slice. */
export type Queues = Map<string, Work[]>;

/** Queues of the work that clients wait for, and of the library's own work. */
export interface AllQueues {
  readonly clients: Queues;
  readonly own: Queues;
}
