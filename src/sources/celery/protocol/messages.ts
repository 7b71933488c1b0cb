/** What the readable places of a Celery deployment hold of a task, decoded. */
import type { TaskChange, TaskFacts } from '../../../history/history.ts';

/** A task, or a group of tasks, that a stored result names as its child. */
export interface ResultNode {
  /** Of the task, or of the group. */
  readonly id: string;
  readonly parent: string | null;
  /** `null` for a task. */
  readonly members: readonly ResultNode[] | null;
}

/** A stored result ("meta") of a task. */
export interface StoredResult {
  readonly change: TaskChange;
  /** Tasks and groups that it sent itself: chain successors, callbacks, `.delay()` children; neither errbacks nor a chord's body. */
  readonly children: readonly ResultNode[];
}

/** A task that is to be sent: an entry of `chain`, `callbacks`, `errbacks` or `chord` in a message's body. */
export interface Signature {
  readonly name: string | null;
  /** Given beforehand for most; `null` where the worker will choose it. */
  readonly taskId: string | null;
  readonly groupId: string | null;
  /** Celery's `subtask_type`: `chain`, `group`, `chord`, `map`, `starmap`, `chunks`; `null` for a plain task. */
  readonly type: string | null;
  /** Of a chain its steps in running order, of a group its members, of a chord its header; else empty. */
  readonly tasks: readonly Signature[];
  /** Of a chord its body. */
  readonly body: Signature | null;
  /** Its own `link` and `link_error` options. */
  readonly callbacks: readonly Signature[];
  readonly errbacks: readonly Signature[];
  /** Its own `chord` option: it is a header task of this body. */
  readonly chord: Signature | null;
}

/** A message in a queue, or one that a worker has taken and not acknowledged. */
export interface QueuedTask {
  readonly facts: TaskFacts;
  readonly deliveryTag: string;
  /** The queue whose list holds it, or that it was taken from. */
  readonly queue: string;
  readonly redelivered: boolean;
  /** When a worker took it, milliseconds since 1970; `null` while it waits. */
  readonly takenAt: number | null;
  /** What follows it in its chain, in running order. */
  readonly chain: readonly Signature[];
  readonly callbacks: readonly Signature[];
  readonly errbacks: readonly Signature[];
  /** The body that waits for it. */
  readonly chord: Signature | null;
}
