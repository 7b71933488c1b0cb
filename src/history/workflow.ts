/** Finds the workflow of a task: all that is reachable over parents, groups and chords, nearest first. */
import type { Task, TaskTree } from '../model.ts';
import type { Records } from './records.ts';
import type { TaskIndex } from './task-index.ts';

/** Most tasks of a workflow that are looked at: the largest graph that the API shows. */
const MAX_TASKS = 20_000;

/**
 * @param slot the asked task
 * @param rowOf makes a task of a record
 */
export function workflowOf(
  slot: number,
  records: Records,
  index: TaskIndex,
  rowOf: (slot: number) => Task,
): TaskTree {
  const seen = new Set<number>([slot]);
  const queue = [slot];
  let truncated = false;

  const reach = (other: number | undefined): void => {
    if (other === undefined || seen.has(other)) return;
    if (seen.size >= MAX_TASKS) {
      truncated = true;
      return;
    }
    seen.add(other);
    queue.push(other);
  };
  const reachAll = (others: readonly number[]): void => {
    for (const other of others) reach(other);
  };

  for (const current of queue) {
    const id = records.ids[current] as string;
    const parent = records.parents[current] ?? null;
    const more = records.extras.get(current);
    if (parent !== null) {
      reach(records.slots.get(parent));
      // Siblings hang together over a parent that is known by its id alone.
      if (!records.slots.has(parent)) reachAll(index.byParent.list(parent));
    }
    if (more?.groupId != null) reachAll(index.byGroup.list(more.groupId));
    if (more?.chordId != null) {
      reach(records.slots.get(more.chordId));
      reachAll(index.byChord.list(more.chordId));
    }
    reachAll(index.byParent.list(id));
    reachAll(index.byChord.list(id));
  }
  return {
    rootId: records.roots[slot] ?? (records.ids[slot] as string),
    tasks: queue.map(rowOf),
    truncated,
  };
}
