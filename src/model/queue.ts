/** One queue, as listed by a `QueueSource`. */
export interface Queue {
  readonly name: string;
  /** Messages that no worker has taken yet; `null` when unknown. */
  readonly waiting: number | null;
  /** Messages that workers have taken but not acknowledged. Default `null`: unknown. */
  readonly reserved?: number | null;
  /** Number of workers that consume from the queue; `null` when unknown. */
  readonly consumers: number | null;
  /** When the oldest due message started to wait; `null` when no message is due or the time is unknown. */
  readonly oldestDueAt: Date | null;
  /**
   * Number of tasks in each of the engine's own states, those of `Task.engineState`. Default `null`: the engine has
   * no such states, or they are unknown.
   */
  readonly engineStates?: Readonly<Record<string, number>> | null;
  /** Whether the engine hands out nothing from this queue because somebody paused it. Default `null`: unknown. */
  readonly isPaused?: boolean | null;
  /** When these figures were read; `null` when they never were. */
  readonly asOf: Date | null;
}
