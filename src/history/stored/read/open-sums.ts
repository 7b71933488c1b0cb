/** Adds up two summaries of tasks that have not ended. */
import type { OpenTaskSummary, TaskGroup } from '../../../source.ts';

/** Most running tasks that are listed. */
const MOST_RUNNING = 2_000;
/** Maximum number of ids listed for a group. */
const MOST_EXAMPLES = 3;

/** @param earlier the summary whose tasks changed first, so that they are listed first */
export function sumOfOpen(later: OpenTaskSummary, earlier: OpenTaskSummary): OpenTaskSummary {
  const running = [...earlier.running, ...later.running].sort((a, b) => a.startedAt - b.startedAt);
  return {
    running: running.slice(0, MOST_RUNNING),
    isWhole: earlier.isWhole && later.isWhole && running.length <= MOST_RUNNING,
    lost: sumBy([...earlier.lost, ...later.lost], ({ worker }) => worker),
    overdue: sumOf(earlier.overdue, later.overdue),
    missing: sumOf(earlier.missing ?? null, later.missing ?? null),
    waiting: sumBy([...earlier.waiting, ...later.waiting], ({ queue }) => queue),
  };
}

function sumBy<Group extends TaskGroup>(
  groups: readonly Group[],
  keyOf: (group: Group) => string | null,
): readonly Group[] {
  const sums = new Map<string | null, Group>();
  for (const group of groups) sums.set(keyOf(group), sumOf(sums.get(keyOf(group)) ?? null, group));
  return [...sums.values()];
}

function sumOf<Group extends TaskGroup>(earlier: Group | null, later: Group): Group;
function sumOf(earlier: TaskGroup | null, later: TaskGroup | null): TaskGroup | null;
function sumOf(earlier: TaskGroup | null, later: TaskGroup | null): TaskGroup | null {
  if (earlier === null || later === null) return earlier ?? later;
  const times = [earlier.since, later.since].filter((time) => time !== null);
  return {
    ...later,
    count: earlier.count + later.count,
    since: times.length === 0 ? null : Math.min(...times),
    states: [...new Set([...earlier.states, ...later.states])],
    examples: [...earlier.examples, ...later.examples].slice(0, MOST_EXAMPLES),
  };
}
