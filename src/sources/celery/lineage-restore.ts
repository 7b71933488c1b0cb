/**
 * Restores the data on which future relations depend, for tasks that were loaded from a store: the history has their
 * parents, groups and chords, and the result backend the children that they have listed.
 */
import type { HistoryReader } from '../../history/history.ts';
import { isDone, type Task } from '../../model.ts';
import { ALL_TASKS } from '../../source/task-query.ts';
import type { TaskQuery } from '../../source.ts';
import type { Lineage } from './lineage/lineage.ts';
import type { KeptTasks } from './results/kept-tasks.ts';
import type { Results } from './results/results.ts';

/** States of tasks whose relatives may still come. */
const OPEN = ['PENDING', 'RECEIVED', 'STARTED', 'RETRY'];
/** Most tasks of one list, and most groups whose members are read. */
const MOST_TASKS = 1_000;
const MOST_GROUPS = 50;
/** Results looked up at once. */
const BATCH = 500;

/** The sources and the target of the restored data. */
export interface LineageRestoreOptions {
  readonly reader: Pick<HistoryReader, 'listTasks'>;
  readonly lineage: Pick<Lineage, 'restored'>;
  /** `null` without a result backend. */
  readonly results: Pick<Results, 'lookup'> | null;
  /** `null` without a store: nothing is restored then. */
  readonly kept: KeptTasks | null;
}

/** Under way until it is done. */
export interface LineageRestore {
  /** Never rejects. */
  readonly done: Promise<void>;
  stop(): void;
}

interface Parts extends LineageRestoreOptions {
  readonly signal: AbortSignal;
}

/** Takes the newest tasks and those that have not ended, once the store has been read. */
export function restoreLineage(options: LineageRestoreOptions): LineageRestore {
  const stopping = new AbortController();
  const { kept } = options;
  const done = kept === null ? Promise.resolve() : restore({ ...options, signal: stopping.signal }, kept);
  return { done, stop: () => stopping.abort() };
}

async function restore(parts: Parts, kept: KeptTasks): Promise<void> {
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

async function relatedTasks(parts: Parts): Promise<ReadonlyMap<string, Task>> {
  const open = (await list(parts, { states: OPEN })).filter(isRelated);
  const newest = (await list(parts, {})).filter(isRelated);
  const tasks = new Map([...open, ...newest].map((task) => [task.id, task]));
  const groups = new Set([...tasks.values()].flatMap(({ groupId }) => groupId ?? []));
  for (const groupId of [...groups].slice(0, MOST_GROUPS)) {
    for (const task of await list(parts, { groupId })) tasks.set(task.id, task);
  }
  return tasks;
}

async function list({ reader, signal }: Parts, filter: Partial<TaskQuery>): Promise<readonly Task[]> {
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
