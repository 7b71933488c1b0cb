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
  // Each group once: every member of a large one names it again.
  const done = { parent: new Set<string>(), group: new Set<string>(), chord: new Set<string>() };
  const members = { parent: index.byParent, group: index.byGroup, chord: index.byChord };
  const reachAll = (kind: keyof typeof done, key: string): void => {
    if (done[kind].has(key)) return;
    done[kind].add(key);
    for (const other of members[kind].list(key)) reach(other);
  };

  for (const current of queue) {
    const id = records.ids[current] as string;
    const parent = records.parents[current] ?? null;
    const more = records.extras.get(current);
    if (parent !== null) {
      reach(records.slots.get(parent));
      // Siblings hang together over a parent that is known by its id alone.
      if (!records.slots.has(parent)) reachAll('parent', parent);
    }
    if (more?.groupId != null) reachAll('group', more.groupId);
    if (more?.chordId != null) {
      reach(records.slots.get(more.chordId));
      reachAll('chord', more.chordId);
    }
    reachAll('parent', id);
    reachAll('chord', id);
  }
  return {
    rootId: records.roots[slot] ?? (records.ids[slot] as string),
    tasks: queue.map(rowOf),
    truncated,
  };
}
