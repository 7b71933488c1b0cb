/** The states of tasks. */

/**
 * Celery's own states and `REJECTED`, which means that the worker dropped the task and did not requeue it.
 */
export const TASK_STATES = [
  'PENDING',
  'RECEIVED',
  'STARTED',
  'RETRY',
  'SUCCESS',
  'FAILURE',
  'REVOKED',
  'REJECTED',
] as const;

/** One of {@link TASK_STATES}, or a custom state that a worker sets (`PROGRESS`), verbatim. */
export type TaskState = (typeof TASK_STATES)[number] | (string & {});

const DONE: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);

/** Whether a task in this state has ended: SUCCESS, FAILURE, REVOKED or REJECTED. */
export function isDone(state: TaskState): boolean {
  return DONE.has(state);
}
