/** Tasks that a store keeps: what need not be read again from a result backend, and the relations that they restore. */

import type { HistoryReader } from '../../../history/history.ts';
import type { StoredHistory } from '../../../history/stored-history.ts';
import { isDone, type Task } from '../../../model.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { TaskQuery } from '../../../source.ts';
import { pause } from '../../../waiting.ts';
import type { Lineage } from '../lineage/lineage.ts';

/** Longest wait for the store, and the interval between two checks, in milliseconds. */
const LONGEST_WAIT_MS = 30_000;
const LOOK_MS = 100;

/** The tasks of a store. Nothing here rejects. */
export type KeptTasks = ReturnType<typeof keptTasks>;

/** @param history a history in a store */
export function keptTasks({ reader, status }: Pick<StoredHistory, 'reader' | 'status'>) {
  return {
    /** Resolves once all tasks that have not ended are in memory, or after half a minute. */
    async loaded(signal: AbortSignal) {
      const end = performance.now() + LONGEST_WAIT_MS;
      while (status().phase !== 'ready' && performance.now() < end && !signal.aborted)
        await pause(LOOK_MS, signal);
    },
    /** Which of these tasks are kept; none while the store cannot be read. */
    async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
      if (ids.length === 0) return new Set();
      try {
        return await reader.listKnown(ids, { signal: AbortSignal.timeout(LONGEST_WAIT_MS) });
      } catch {
        return new Set();
      }
    },
  };
}

/** States of tasks whose relatives may still come. */
const OPEN = ['PENDING', 'RECEIVED', 'STARTED', 'RETRY'];
/** Most tasks of one list, and most groups whose members are read. */
const MOST_TASKS = 1_000;
const MOST_GROUPS = 50;
/** Results looked up at once. */
const BATCH = 500;

/** The sources and the target of the restored data. */
interface RestoreParts {
  readonly reader: Pick<HistoryReader, 'listTasks'>;
  readonly lineage: Pick<Lineage, 'restored'>;
  /** `null` without a result backend. */
  readonly results: { lookup(ids: readonly string[], signal: AbortSignal): Promise<unknown> } | null;
  /** `null` without a store: nothing is restored then. */
  readonly kept: KeptTasks | null;
  readonly signal: AbortSignal;
}

/**
 * Restores the data on which future relations depend, once the store has been read: the history has parents, groups and
 * chords of the newest tasks and of those that have not ended, and the result backend the children that they have listed.
 *
 * @returns a function that ends it
 */
export function restoreLineage(options: Omit<RestoreParts, 'signal'>): () => void {
  const stopping = new AbortController();
  const { kept } = options;
  if (kept !== null) void restore({ ...options, signal: stopping.signal }, kept);
  return () => stopping.abort();
}

/** Never rejects. */
async function restore(parts: RestoreParts, kept: KeptTasks): Promise<void> {
  const { lineage, results, signal } = parts;
  await kept.loaded(signal);
  try {
    const tasks = await relatedTasks(parts);
    for (const task of tasks.values()) lineage.restored(task);
    const ended = endedAmong(tasks);
    for (let at = 0; at < ended.length && !signal.aborted; at += BATCH) {
      await results?.lookup(ended.slice(at, at + BATCH), signal);
    }
  } catch {
    // The store cannot be read. Relations follow from received messages.
  }
}

async function relatedTasks(parts: RestoreParts): Promise<ReadonlyMap<string, Task>> {
  const open = (await list(parts, { states: OPEN })).filter(isRelated);
  const newest = (await list(parts, {})).filter(isRelated);
  const tasks = new Map([...open, ...newest].map((task) => [task.id, task]));
  const groups = new Set([...tasks.values()].flatMap(({ groupId }) => groupId ?? []));
  for (const groupId of [...groups].slice(0, MOST_GROUPS)) {
    for (const task of await list(parts, { groupId })) tasks.set(task.id, task);
  }
  return tasks;
}

async function list({ reader, signal }: RestoreParts, filter: Partial<TaskQuery>): Promise<readonly Task[]> {
  const query: TaskQuery = { ...ALL_TASKS, limit: MOST_TASKS, scan: 10 * MOST_TASKS, ...filter };
  return (await reader.listTasks(query, { signal })).tasks;
}

function isRelated({ id, parentId, rootId, groupId, chordId }: Task): boolean {
  return parentId != null || groupId != null || chordId != null || (rootId != null && rootId !== id);
}

/** Tasks that may have listed children: those that have ended, and parents about which nothing else is known here. */
function endedAmong(tasks: ReadonlyMap<string, Task>): string[] {
  const ids = new Set<string>();
  for (const { id, state, parentId } of tasks.values()) {
    if (isDone(state)) ids.add(id);
    if (parentId != null && !tasks.has(parentId)) ids.add(parentId);
  }
  return [...ids];
}
