/** The rows of the task list: how changes are merged into them, and what is new while they are held. */
import type { SourceBody, TaskBody } from '../../client.ts';

/** The rows as they are now: the first page of the list and what has changed since. */
export interface Listed {
  /** The query of the page's URL. */
  readonly key: string;
  /** The query that `next` belongs to. */
  readonly asked: object;
  readonly rows: readonly TaskBody[];
  readonly next: string | null;
  readonly total: number | null;
  readonly sources: readonly SourceBody[];
}

/** By time of the last change, newest first, as the API lists them. */
function newestFirst(a: TaskBody, b: TaskBody): number {
  if (a.timestamp !== b.timestamp) {
    if (a.timestamp === null) return 1;
    if (b.timestamp === null) return -1;
    return a.timestamp < b.timestamp ? 1 : -1;
  }
  return a.task_id < b.task_id ? -1 : 1;
}

/**
 * The rows with changed tasks in place of what they were.
 *
 * @param changed rows of the same list, newest first
 */
export function withChanges(before: Listed, changed: readonly TaskBody[]): Listed {
  const ids = new Set(changed.map(({ task_id }) => task_id));
  const last = before.rows.at(-1);
  const rows = [...changed, ...before.rows.filter(({ task_id }) => !ids.has(task_id))].toSorted(newestFirst);
  // What comes behind the last row is on the next page.
  const listed =
    before.next === null || last === undefined ? rows : rows.filter((row) => newestFirst(row, last) <= 0);
  return { ...before, rows: listed, total: before.next === null ? listed.length : before.total };
}

/** Rows that stay where they are; what is known anew of them is filled in. */
export function inPlace(rows: readonly TaskBody[], latest: readonly TaskBody[]): readonly TaskBody[] {
  const known = new Map(latest.map((row) => [row.task_id, row]));
  return rows.map((row) => known.get(row.task_id) ?? row);
}

/** A task that changed between two pages may appear on both. The first one is newer. */
export function unique(rows: readonly TaskBody[]): readonly TaskBody[] {
  const seen = new Set<string>();
  return rows.filter(({ task_id }) => !seen.has(task_id) && seen.add(task_id));
}
