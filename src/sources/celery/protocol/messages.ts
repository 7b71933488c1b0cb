/** Decoded messages and results of a Celery deployment. */
import type { TaskChange, TaskFacts } from '../../../history/history.ts';

/** A child in a stored result: a task, or a group of tasks. */
export interface ResultNode {
  /** Id of the task or group. */
  readonly id: string;
  readonly parent: string | null;
  /** `null` for a task. */
  readonly members: readonly ResultNode[] | null;
}

/** A stored result ("meta") of a task. */
export interface StoredResult {
  readonly change: TaskChange;
  /**
   * Tasks and groups that the task sent: next steps of its chain, callbacks and `.delay()` children, but
   * neither errbacks nor the body of its chord.
   */
  readonly children: readonly ResultNode[];
}

/** A task that is not sent yet: an entry of `chain`, `callbacks`, `errbacks` or `chord` in a message's body. */
export interface Signature {
  readonly name: string | null;
  /** Usually known in advance; `null` if the worker will choose it. */
  readonly taskId: string | null;
  readonly groupId: string | null;
  /** Celery's `subtask_type`: `chain`, `group`, `chord`, `map`, `starmap`, `chunks`; `null` for a plain task. */
  readonly type: string | null;
  /**
   * The steps of a chain in running order, the members of a group, or the header of a chord; empty for a plain
   * task.
   */
  readonly tasks: readonly Signature[];
  /** The body of a chord. */
  readonly body: Signature | null;
  /** Its own `link` and `link_error` options. */
  readonly callbacks: readonly Signature[];
  readonly errbacks: readonly Signature[];
  /** Its own `chord` option: the body if it is a header task of a chord. */
  readonly chord: Signature | null;
}

/** A message in a queue, or one that a worker has taken and not acknowledged. */
export interface QueuedTask {
  readonly facts: TaskFacts;
  readonly deliveryTag: string;
  /** The queue that has it, or that it was taken from. */
  readonly queue: string;
  readonly redelivered: boolean;
  /** When a worker took it, milliseconds since 1970; `null` while it waits. */
  readonly takenAt: number | null;
  /** Name of the entry of a schedule that sent it (`periodic_task_name`); `null`: it names none. */
  readonly periodicTask: string | null;
  /** The next steps of its chain, in running order. */
  readonly chain: readonly Signature[];
  readonly callbacks: readonly Signature[];
  readonly errbacks: readonly Signature[];
  /** The body of its chord. */
  readonly chord: Signature | null;
}
