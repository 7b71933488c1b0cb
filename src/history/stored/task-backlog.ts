/** Tasks that have changed and are not written yet. They stay in memory until they are, up to a bound. */

import type { KeptTask } from '../memory/tap.ts';
import { mergeRecords } from '../merge/merge-records.ts';

/** Tasks whose stored version is remembered. The others are looked up before they are written again. */
const MOST_VERSIONS = 20_000;

/** The key and version under which a task is stored. `version` 0: it is not. */
export interface StoredVersion {
  readonly day: number;
  readonly version: number;
}

/** The waiting tasks. Times as {@link StoreClock.elapsed}. */
export interface TaskBacklog {
  /** By id: since when the task waits. The oldest come first. Tasks that are being written stay here until they are. */
  readonly changed: Map<string, number>;
  /** Tasks being written that have changed again, and when. */
  readonly again: Map<string, number>;
  /** Tasks being written. */
  readonly writing: Set<string>;
  /**
   * Of tasks in memory that were written or read lately. If memory has dropped a task, later messages contain only a
   * part of it: the stored task must be read before they are written.
   */
  readonly versions: Map<string, StoredVersion>;
  /** Tasks that were dropped before they could be written. */
  lost: number;
}

/** @returns an empty backlog */
export function createTaskBacklog(): TaskBacklog {
  return { changed: new Map(), again: new Map(), writing: new Set(), versions: new Map(), lost: 0 };
}

/** A task has changed. */
export function noteChanged({ changed, again, writing }: TaskBacklog, id: string, at: number): void {
  if (!changed.has(id)) changed.set(id, at);
  else if (writing.has(id) && !again.has(id)) again.set(id, at);
}

/** A task is about to be dropped from memory. One that waits is lost. */
export function noteDropping(backlog: TaskBacklog, id: string): void {
  const { changed, writing, again, versions } = backlog;
  versions.delete(id);
  if (!changed.has(id)) return;
  // The write that is under way may still succeed; if it does not, the next one finds the task lost.
  if (writing.has(id) && !again.has(id)) return;
  lose(backlog, id);
}

/** Merges what two instances, or two times, know about one task. */
export function bothOf(one: KeptTask, other: KeptTask): KeptTask {
  const record = mergeRecords(one.record, other.record);
  const shortened = [one, other].flatMap((task) =>
    task.shortened.filter((field) => record[field] === task.record[field]),
  );
  return { record, rootId: other.rootId ?? one.rootId, shortened };
}

/** Removes a task that this or another instance has written. A task that has changed meanwhile waits again. */
export function settle(backlog: TaskBacklog, id: string): void {
  const later = backlog.again.get(id);
  forget(backlog, id);
  if (later !== undefined) backlog.changed.set(id, later);
}

/** Removes a task that can no longer be read. */
export function lose(backlog: TaskBacklog, id: string): void {
  forget(backlog, id);
  backlog.lost++;
}

function forget(backlog: TaskBacklog, id: string): void {
  backlog.changed.delete(id);
  backlog.again.delete(id);
}

/** Removes the tasks that have waited since before a moment: others have written them. */
export function pruneBefore(backlog: TaskBacklog, moment: number): void {
  for (const [id, since] of backlog.changed) {
    if (since >= moment) return;
    if (!backlog.writing.has(id)) forget(backlog, id);
  }
}

/** Remembers under which version a task is stored. */
export function rememberVersion({ versions }: TaskBacklog, id: string, version: StoredVersion): void {
  versions.delete(id);
  versions.set(id, version);
  if (versions.size <= MOST_VERSIONS) return;
  for (const oldest of versions.keys()) {
    versions.delete(oldest);
    return;
  }
}
