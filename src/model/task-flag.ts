/**
 * Known problems of a task that its state does not show.
 * - `worker_lost`: received or started on a worker whose heartbeat stopped
 * - `overdue`: its eta has passed and it has not started
 * - `never_received`: sent, but found in no queue and on no worker
 * - `end_unseen`: it no longer runs, and its end was not seen; it does not count as running
 * - `consequence`: it never ran, and failed because another task did; it does not count as a failure of its own
 */
export type TaskFlag = 'worker_lost' | 'overdue' | 'never_received' | 'end_unseen' | 'consequence';

const FLAGS: readonly TaskFlag[] = ['worker_lost', 'overdue', 'never_received', 'end_unseen', 'consequence'];

/** The known flags of a task, each once. None where `flags` is no array, which a source in JavaScript may return. */
export function flagsOf(flags: unknown): TaskFlag[] {
  return Array.isArray(flags) && flags.length > 0 ? FLAGS.filter((flag) => flags.includes(flag)) : [];
}

/** Whether a task has this flag. */
export function hasFlag({ flags }: { readonly flags?: unknown }, flag: TaskFlag): boolean {
  return Array.isArray(flags) && flags.includes(flag);
}
