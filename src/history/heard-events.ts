/** What a history reports to listeners that count events: each event once, however often its change is reported. */
import type { TaskChange } from './changes.ts';

/** An event about a task, and what events have reported about the task so far. */
export interface HeardEvent {
  readonly change: TaskChange;
  readonly name: string | null;
  /** Where the task was sent to; `null`: no event has reported that it was sent. */
  readonly queue: string | null;
  /** When the task was last sent, milliseconds since 1970; `null`: no event has reported that. */
  readonly sentAt: number | null;
  /** Milliseconds since 1970. */
  readonly eta: number | null;
}

/** Must not throw. */
export type EventListener = (event: HeardEvent) => void;

/** A worker that sends messages. */
export interface HeardWorker {
  readonly hostname: string;
  /** For how long it has been silent, in milliseconds, without the time in which nothing could be received. */
  readonly silentMs: number;
  readonly saidGoodbye: boolean;
  /** Tasks that it runs, according to its last heartbeat; `null`: not reported. */
  readonly active: number | null;
  /** Queues that it consumes from; `null`: not reported. */
  readonly queues: readonly string[] | null;
  /** Processes or threads of its pool; `null`: not reported. */
  readonly poolSize: number | null;
}
