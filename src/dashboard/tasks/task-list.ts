/** The rows of the task list: merges changes into them, and finds new ones while they are held. */
import type { SourceBody, TaskBody, TaskCapabilitiesBody } from '../../client.ts';

/** The current rows: the first page of the list with all later changes. */
export interface Listed {
  /** The query of the page's URL. */
  readonly key: string;
  /** The query to which `next` belongs. */
  readonly asked: object;
  readonly rows: readonly TaskBody[];
  readonly next: string | null;
  readonly total: number | null;
  readonly capabilities: TaskCapabilitiesBody | null;
  readonly sources: readonly SourceBody[];
}

/** Identifies a task: two sources may have tasks with the same id. */
export const keyOf = ({ source, task_id }: TaskBody): string => `${source} ${task_id}`;

/** By time of the last change, newest first, as the API lists them. */
function newestFirst(a: TaskBody, b: TaskBody): number {
  if (a.timestamp !== b.timestamp) {
    if (a.timestamp === null) return 1;
    if (b.timestamp === null) return -1;
    return a.timestamp < b.timestamp ? 1 : -1;
  }
  return a.task_id < b.task_id ? -1 : Number(a.task_id > b.task_id);
}

/**
 * Replaces changed tasks in the rows.
 *
 * @param changed rows of the same list, newest first
 */
export function withChanges(before: Listed, changed: readonly TaskBody[]): Listed {
  const keys = new Set(changed.map(keyOf));
  const last = before.rows.at(-1);
  const rows = [...changed, ...before.rows.filter((row) => !keys.has(keyOf(row)))].toSorted(newestFirst);
  // Tasks after the last row are on the next page.
  const listed =
    before.next === null || last === undefined ? rows : rows.filter((row) => newestFirst(row, last) <= 0);
  return { ...before, rows: listed, total: before.next === null ? listed.length : before.total };
}

/** A task that changed between two pages may appear on both. The first one is newer. */
export function unique(rows: readonly TaskBody[]): readonly TaskBody[] {
  const seen = new Set<string>();
  return rows.filter((row) => !seen.has(keyOf(row)) && seen.add(keyOf(row)));
}
