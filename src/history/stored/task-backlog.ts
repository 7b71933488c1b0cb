/** Tasks that have changed and are not written yet. */

import type { Steps } from '../../scheduler.ts';
import { droppedTask } from '../memory/read-kept.ts';
import type { DroppedTask, KeptTask, MemoryAccess } from '../memory/tap.ts';
import { mergeRecords } from '../merge/merge-records.ts';

/** Most tasks that memory has dropped and that wait to be written. */
const MOST_DROPPED = 20_000;
/** Most characters of their texts. */
const MOST_DROPPED_TEXT = 32 * 1024 * 1024;
/** Size of a task besides its texts, in characters. */
const CHARACTERS_PER_TASK = 500;
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
  /** Changed tasks that memory has dropped. */
  readonly dropped: Map<string, DroppedTask>;
  droppedText: number;
  /**
   * Of tasks in memory that were written or read lately. If memory has dropped a task, later messages contain only a
   * part of it: the stored task must be read before they are written.
   */
  readonly versions: Map<string, StoredVersion>;
  /** Tasks that memory has dropped since their write began. */
  readonly gone: Set<string>;
  /** Tasks that were dropped before they could be written. */
  lost: number;
}

/** @returns an empty backlog */
export function createTaskBacklog(): TaskBacklog {
  return {
    changed: new Map(),
    again: new Map(),
    writing: new Set(),
    dropped: new Map(),
    droppedText: 0,
    versions: new Map(),
    gone: new Set(),
    lost: 0,
  };
}

/** A task has changed. */
export function noteChanged({ changed, again, writing }: TaskBacklog, id: string, at: number): void {
  if (!changed.has(id)) changed.set(id, at);
  else if (writing.has(id) && !again.has(id)) again.set(id, at);
}

/**
 * A task is about to be dropped from memory. One that waits is kept for a while, up to a bound.
 *
 * @param detach takes it from memory
 */
export function noteDropping(
  backlog: TaskBacklog,
  id: string,
  detach: (id: string) => DroppedTask | null,
): void {
  const { changed, dropped, writing, again, versions, gone } = backlog;
  if (!changed.has(id)) {
    versions.delete(id);
    return;
  }
  if (writing.has(id)) gone.add(id);
  const task = dropped.size < MOST_DROPPED && backlog.droppedText < MOST_DROPPED_TEXT ? detach(id) : null;
  if (task !== null) {
    keepDropped(backlog, id, task);
    return;
  }
  // The write that is under way may still succeed; if it does not, the next one lacks the task.
  if (writing.has(id) && !again.has(id)) return;
  forget(backlog, id);
  backlog.lost++;
}

/**
 * Keeps the waiting tasks, since memory is about to drop all tasks.
 *
 * @param detach takes one from memory
 */
export function* keepChanged(backlog: TaskBacklog, detach: (id: string) => DroppedTask | null): Steps<void> {
  for (const id of [...backlog.changed.keys()]) {
    noteDropping(backlog, id, detach);
    yield;
  }
}

/** Keeps a task that is no longer in memory, merged with what is already kept of it. */
export function keepDropped(backlog: TaskBacklog, id: string, task: DroppedTask): void {
  const known = backlog.dropped.get(id);
  const kept = known === undefined ? task : droppedTask(bothOf(known.read(), task.read()));
  backlog.droppedText += sizeOf(kept) - sizeOf(known);
  backlog.dropped.set(id, kept);
}

/** Merges what two instances, or two times, know about one task. */
export function bothOf(one: KeptTask, other: KeptTask): KeptTask {
  const record = mergeRecords(one.record, other.record);
  const shortened = [one, other].flatMap((task) =>
    task.shortened.filter((field) => record[field] === task.record[field]),
  );
  return { record, rootId: other.rootId ?? one.rootId, shortened };
}

/** A task in memory, or one that memory has dropped and that waits; a late message creates a dropped task again. */
export function keptTask(
  { dropped }: Pick<TaskBacklog, 'dropped'>,
  access: Pick<MemoryAccess, 'readTask'>,
  id: string,
): KeptTask | null {
  const earlier = dropped.get(id)?.read() ?? null;
  const task = access.readTask(id);
  return earlier === null || task === null ? (earlier ?? task) : bothOf(earlier, task);
}

/** Removes a task that this or another instance has written. A task that has changed meanwhile waits again. */
export function settle(backlog: TaskBacklog, id: string): void {
  const later = backlog.again.get(id);
  if (later === undefined) {
    forget(backlog, id);
    return;
  }
  backlog.changed.delete(id);
  backlog.again.delete(id);
  backlog.changed.set(id, later);
}

/** Removes a task that can no longer be read. */
export function lose(backlog: TaskBacklog, id: string): void {
  forget(backlog, id);
  backlog.lost++;
}

function forget(backlog: TaskBacklog, id: string): void {
  backlog.changed.delete(id);
  backlog.again.delete(id);
  backlog.droppedText -= sizeOf(backlog.dropped.get(id));
  backlog.dropped.delete(id);
}

/** Removes the tasks that have waited since before a moment: others have written them. */
export function pruneBefore(backlog: TaskBacklog, moment: number): void {
  for (const [id, since] of backlog.changed) {
    if (since >= moment) return;
    if (!backlog.writing.has(id)) forget(backlog, id);
  }
}

/** Forgets or remembers under which version a task was written. */
export function noteWritten(backlog: TaskBacklog, id: string, version: StoredVersion): void {
  if (backlog.dropped.has(id) || backlog.gone.has(id)) backlog.versions.delete(id);
  else rememberVersion(backlog, id, version);
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

/** Approximate number of characters of a task. */
function sizeOf(task: DroppedTask | undefined): number {
  return task === undefined ? 0 : CHARACTERS_PER_TASK + task.textLength;
}
