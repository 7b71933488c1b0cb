/** The data that statistics are computed from: one task in numbers. */

import { hasFlag, type Task, type TaskAttempt, type TaskCause, type TaskChangeEntry } from '../model.ts';
import { waitSecondsOf } from './durations.ts';

/** The figures of a task. Times in milliseconds since 1970, `NaN` where unknown. */
export interface TaskFigures {
  readonly id: string;
  readonly state: string;
  /** It no longer runs, although its state says so: its end was not seen. */
  readonly isEndUnseen: boolean;
  /** It never ran, and failed because another task did. */
  readonly isConsequence: boolean;
  /** Why it failed; `null`: it has not failed, or the cause is unknown. */
  readonly cause: TaskCause | null;
  readonly name: string | null;
  readonly worker: string | null;
  readonly queue: string | null;
  /** The task that sent it. */
  readonly parentId: string | null;
  /** Of the last change. */
  readonly timestamp: number;
  readonly sent: number;
  readonly received: number;
  /** Of the last attempt. */
  readonly started: number;
  readonly finished: number;
  /** In seconds. */
  readonly runtime: number;
  /** In seconds: how long it waited for its last start. */
  readonly wait: number;
  /** When each retried attempt ended; `null`: at unknown times. */
  readonly retriedAt: readonly number[] | null;
}

/**
 * The figures of a task as an object. Of its retries, only the time of the last one is known. A task
 * without a number of retries counts as never retried before.
 *
 * @param cause of a task that failed, if it is requested
 */
export function figuresOf(task: Task, cause: TaskCause | null = null): TaskFigures {
  return {
    id: task.id,
    state: task.state,
    isEndUnseen: hasFlag(task, 'end_unseen'),
    isConsequence: hasFlag(task, 'consequence'),
    cause,
    name: task.name ?? null,
    worker: task.worker ?? null,
    queue: task.queue ?? null,
    parentId: task.parentId ?? null,
    timestamp: msOf(task.timestamp),
    sent: msOf(task.sent),
    received: msOf(task.received),
    started: msOf(task.started),
    finished: msOf(task.finished),
    runtime: typeof task.runtime === 'number' ? task.runtime : Number.NaN,
    wait: waitSecondsOf(task) ?? Number.NaN,
    retriedAt: retriesIn(task),
  };
}

/** When a task failed: milliseconds since 1970, `NaN` where unknown. */
export function failedAt({ finished, timestamp }: Pick<TaskFigures, 'finished' | 'timestamp'>): number {
  return Number.isNaN(finished) ? timestamp : finished;
}

function retriesIn({ state, timestamp, retries }: Task): readonly number[] | null {
  const times = state === 'RETRY' ? [msOf(timestamp)] : NEVER;
  return (retries ?? 0) > times.length ? null : times;
}

const NEVER: readonly number[] = [];

function msOf(time: Date | null | undefined): number {
  return time?.getTime() ?? Number.NaN;
}

/** States in which an attempt has ended. */
const ENDS: ReadonlySet<string> = new Set(['RETRY', 'SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);
const FAILED: ReadonlySet<string> = new Set(['RETRY', 'FAILURE']);

/**
 * The attempts of a task according to its timeline, oldest first. A change that names no attempt belongs to the
 * attempt that the preceding changes have reached.
 */
export function attemptsIn(timeline: readonly TaskChangeEntry[]): readonly TaskAttempt[] {
  const attempts = new Map<number, { -readonly [Name in keyof TaskAttempt]: TaskAttempt[Name] }>();
  let current = 0;
  for (const { state, timestamp, detail, retries } of timeline) {
    if (state === 'PENDING') continue;
    const at = retries ?? current;
    const attempt = attempts.get(at) ?? { number: at + 1, started: null, finished: null, error: null };
    attempts.set(at, attempt);
    if (state === 'STARTED') attempt.started ??= timestamp;
    if (ENDS.has(state)) attempt.finished = timestamp;
    if (FAILED.has(state)) attempt.error = detail;
    current = Math.max(current, state === 'RETRY' ? at + 1 : at);
  }
  return [...attempts.values()].sort((a, b) => a.number - b.number);
}
