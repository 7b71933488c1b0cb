/** A task source that also finds what the history does not hold, as long as the backend does. */

import type { History, HistoryReader } from '../../../history/history.ts';
import type { HistorySources } from '../../../history/history-sources.ts';
import { createMemoryHistory } from '../../../history/memory-history.ts';
import type { TaskTree } from '../../../model.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { StoredResult } from '../protocol/messages.ts';
import type { ResultLookup } from './result-lookup.ts';

/** A history's task source. */
type TaskPart = HistorySources['tasks'];

/** Longest time that a read waits for Redis, in milliseconds; then it is answered from what is there. */
const LONGEST_WAIT = 1_000;
const LONGEST_TREE_WAIT = 2_000;
/** A workflow is completed in so many rounds of so many ids. */
const ROUNDS = 5;
const IDS_A_ROUND = 1_000;
/** Bounds of what is held of tasks that were asked for and are too old for the history. */
const MOST_ASIDE = 1_000;
const BYTES_ASIDE = 16 * 1024 * 1024;

/** Completes a task source. */
export interface TaskLookup {
  /** Keeps a result that was asked for and that the history would not keep. */
  keepAside(result: StoredResult): void;
  /** The same source, which looks up what it does not know. */
  over(tasks: TaskPart, lookup: ResultLookup): TaskPart;
  close(): void;
}

export function createTaskLookup(reader: HistoryReader, lineage: Lineage, valueLength: number): TaskLookup {
  let aside: History | null = null;

  function over(tasks: TaskPart, lookup: ResultLookup): TaskPart {
    async function find(ids: readonly string[], signal: AbortSignal): Promise<number> {
      return ids.length === 0 || signal.aborted ? 0 : await lookup(ids, signal);
    }

    /** Whether there is more of it now. */
    async function complete(id: string, tree: TaskTree, signal: AbortSignal): Promise<boolean> {
      const unknown = new Set(lineage.unknownRelatives(id, IDS_A_ROUND));
      const named = referencesOf(tree);
      const known = await reader.listKnown(named, { signal });
      for (const other of named) {
        if (unknown.size >= IDS_A_ROUND) break;
        if (!known.has(other)) unknown.add(other);
      }
      return (await find([...unknown], signal)) > 0;
    }

    return {
      ...tasks,
      status() {
        const status = tasks.status?.() ?? { ok: true, asOf: new Date() };
        // What was looked up belongs to the answers as well.
        const { revision } = status;
        const more = aside?.reader.freshness('tasks').revision ?? 0;
        return revision === undefined ? status : { ...status, revision: `${revision}.${more}` };
      },
      async getTask(id, context) {
        const known = await tasks.getTask(id, context);
        if (known !== null) return known;
        await find([id], AbortSignal.any([context.signal, AbortSignal.timeout(LONGEST_WAIT)]));
        return (await tasks.getTask(id, context)) ?? (await aside?.reader.getTask(id, context)) ?? null;
      },
      async getTaskTree(id, context) {
        const read = async (): Promise<TaskTree | null> =>
          (await tasks.getTaskTree(id, context)) ?? (await aside?.reader.getTaskTree(id, context)) ?? null;
        const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LONGEST_TREE_WAIT)]);
        let tree = await read();
        if (tree === null) {
          await find([id], signal);
          tree = await read();
        }
        for (let round = 0; tree !== null && round < ROUNDS; round += 1) {
          if (!(await complete(id, tree, signal))) break;
          tree = await read();
        }
        return tree;
      },
    };
  }

  return {
    keepAside({ change }) {
      aside ??= createMemoryHistory({
        maxTasks: MOST_ASIDE,
        maxAgeMs: Number.MAX_SAFE_INTEGER,
        maxBytes: BYTES_ASIDE,
        maxValueLength: valueLength,
      });
      aside.writer.recordTask(change);
    },
    over,
    close() {
      aside?.close();
      aside = null;
    },
  };
}

/** Tasks that those of the tree name and that are not among them. */
function referencesOf({ rootId, tasks, relations = [] }: TaskTree): Set<string> {
  const named = new Set([rootId]);
  for (const { parentId, rootId: root, chordId } of tasks) {
    for (const id of [parentId, root, chordId]) if (typeof id === 'string') named.add(id);
  }
  for (const { parent, child, relation } of relations) {
    named.add(child);
    if (parent !== null && relation !== 'group') named.add(parent);
  }
  for (const { id } of tasks) named.delete(id);
  return named;
}
