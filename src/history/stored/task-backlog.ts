/** Tasks that wait to be written, and what is known of their stored versions. */
import type { RecordStep } from '../merge/merge.ts';

/** Tasks whose stored version is remembered. The others are looked up before they are written again. */
const MOST_VERSIONS = 20_000;

/** The key and version under which a task is stored. `version` 0: it is not. */
export interface StoredVersion {
  readonly day: number;
  readonly version: number;
}

/** The waiting tasks. Times as `StoreClock.elapsed`. */
export interface TaskBacklog {
  /** By id: since when the task waits. The oldest come first. Tasks that are being written stay here until they are. */
  readonly changed: Map<string, number>;
  /** Tasks being written that have changed again, and when. */
  readonly again: Map<string, number>;
  /** Tasks being written. */
  readonly writing: Set<string>;
  /**
   * By id: what was told of a task since it was last written. If a version is stored that memory does not have, the same
   * is told to that one.
   */
  readonly steps: Map<string, RecordStep[]>;
  /** Tasks of which too much was told since they were last written, or too long ago, to keep it. */
  readonly forgotten: Set<string>;
  /** What was told before of tasks that are being written. */
  readonly told: Map<string, readonly RecordStep[]>;
  /**
   * Of tasks in memory that were written or read lately. If memory has dropped a task, later messages contain only a
   * part of it: the stored task must be read before they are written.
   */
  readonly versions: Map<string, StoredVersion>;
  /** Tasks that were dropped before they could be written, or of which an earlier part was written over. */
  lost: number;
}

/** @returns an empty backlog */
export function createTaskBacklog(): TaskBacklog {
  return {
    changed: new Map(),
    again: new Map(),
    writing: new Set(),
    steps: new Map(),
    forgotten: new Set(),
    told: new Map(),
    versions: new Map(),
    lost: 0,
  };
}

/** A task has changed. */
export function noteChanged({ changed, again, writing }: TaskBacklog, id: string, at: number): void {
  if (!changed.has(id)) changed.set(id, at);
  else if (writing.has(id) && !again.has(id)) again.set(id, at);
}

/** Most tasks, and steps of each, that are kept to be told again; the database may be away for long. */
const MOST_TOLD = { tasks: 20_000, steps: 1_000 };

/** A task was told something. */
export function noteStep({ steps, forgotten }: TaskBacklog, id: string, step: RecordStep): void {
  if (forgotten.has(id)) return;
  const known = steps.get(id);
  if (known === undefined) steps.set(id, [step]);
  else known.push(step);
  if (steps.size <= MOST_TOLD.tasks && (known?.length ?? 0) <= MOST_TOLD.steps) return;
  const [oldest = id] = steps.keys();
  const tooMuch = steps.size > MOST_TOLD.tasks ? oldest : id;
  steps.delete(tooMuch);
  forgotten.add(tooMuch);
}

/** What was told of a task that no stored version is known to have. */
export function stepsOf({ steps, told }: TaskBacklog, id: string): readonly RecordStep[] {
  return [...(told.get(id) ?? []), ...(steps.get(id) ?? [])];
}

/** A task is about to be dropped from memory. One that waits is lost. */
export function noteDropping(backlog: TaskBacklog, id: string): void {
  const { changed, writing, again, versions, steps, forgotten } = backlog;
  versions.delete(id);
  steps.delete(id);
  forgotten.delete(id);
  if (!changed.has(id)) return;
  // The write that is under way may still succeed; if it does not, the next one finds the task lost.
  if (writing.has(id) && !again.has(id)) return;
  lose(backlog, id);
}

/** Removes a task that was written. A task that has changed meanwhile waits again. */
export function settle({ changed, again, forgotten }: TaskBacklog, id: string): void {
  const later = again.get(id);
  changed.delete(id);
  again.delete(id);
  if (later === undefined) forgotten.delete(id);
  else changed.set(id, later);
}

/** Removes a task that can no longer be read. */
export function lose(backlog: TaskBacklog, id: string): void {
  backlog.changed.delete(id);
  backlog.again.delete(id);
  backlog.steps.delete(id);
  backlog.forgotten.delete(id);
  backlog.lost++;
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

/** What was told of tasks that could not be written is told again, before what followed. */
export function putBack({ steps, writing, told }: TaskBacklog): void {
  for (const [id, taken] of told) {
    if (taken.length > 0 && writing.has(id)) steps.set(id, [...taken, ...(steps.get(id) ?? [])]);
  }
  told.clear();
}
