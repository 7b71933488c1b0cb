/**
 * Searches the texts of tasks, which costs microseconds each, in slices. What is to be searched is collected
 * before the first slice, since the indexes change meanwhile.
 */
import type { TaskPage, TaskPosition, TaskQuery } from '../../source.ts';
import { createSlices } from '../slices.ts';
import type { Records } from '../table/records.ts';
import type { ListOrder } from './list-order.ts';
import type { Rows } from './rows.ts';

/** A task and its position when the search began. */
export interface SearchEntry {
  readonly slot: number;
  readonly position: TaskPosition;
}

/** Tasks to search, in the order of the list. */
export interface SearchEntries {
  readonly entries: readonly SearchEntry[];
  /** The last position examined, where that is not the end of the list; else `null`. */
  readonly end: TaskPosition | null;
}

/** What a search reads. */
export interface SearchContext {
  readonly records: Records;
  readonly rows: Rows;
  readonly order: ListOrder;
  /** Updates the indexes. */
  catchUp(): void;
}

/**
 * Collects the tasks that pass all filters but the text.
 *
 * @param most how many tasks are examined
 */
export function collectEntries(
  walk: Iterable<number>,
  most: number,
  passes: (slot: number) => boolean,
  { positionOf }: ListOrder,
): SearchEntries {
  const entries: SearchEntry[] = [];
  let examined = 0;
  let last = -1;
  for (const slot of walk) {
    if (examined >= most) return { entries, end: positionOf(last) };
    examined++;
    last = slot;
    if (passes(slot)) entries.push({ slot, position: positionOf(slot) });
  }
  return { entries, end: null };
}

/**
 * A page of the tasks whose texts match.
 *
 * @param isWhole whether all tasks that pass the filters are among the entries, so that matches can be counted
 */
export async function searchTexts(
  { entries, end }: SearchEntries,
  query: TaskQuery,
  isWhole: boolean,
  context: SearchContext,
): Promise<TaskPage> {
  const { limit, after } = query;
  const { records, rows, order } = context;
  const found: SearchEntry[] = [];
  let total = 0;
  let hasMore = false;
  const slices = createSlices();
  for (const entry of entries) {
    if (slices.isOver()) await slices.next();
    if (!isPresent(records, entry) || !query.search(rows.brief(entry.slot))) continue;
    total += 1;
    if (isWhole && after !== null && order.compare(entry.position, after) <= 0) continue;
    if (found.length < limit) {
      found.push(entry);
      continue;
    }
    hasMore = true;
    if (!isWhole) break;
  }
  const last = hasMore ? (found.at(-1)?.position ?? null) : end;
  const next = limit === 0 ? null : last;
  return { tasks: presentTasks(found, after, next, context), next, total: isWhole ? total : null };
}

/** Whether the task is still held: a slot may have been given to another task meanwhile. */
function isPresent(records: Records, { slot, position }: SearchEntry): boolean {
  return records.indexed[slot] === 1 && records.ids[slot] === position.id;
}

/**
 * The tasks of a page in their present order. One that has moved to another page meanwhile is left out: on a
 * later page it is met again, and on an earlier one a client finds it by `since`.
 */
function presentTasks(
  found: readonly SearchEntry[],
  after: TaskPosition | null,
  next: TaskPosition | null,
  { records, rows, order, catchUp }: SearchContext,
): TaskPage['tasks'] {
  catchUp();
  return found
    .filter((entry) => isPresent(records, entry))
    .map(({ slot, position }) => ({ slot, before: position, position: order.positionOf(slot) }))
    .filter(({ position, before }) => {
      if (order.compare(position, before) === 0) return true;
      const isBehindStart = after === null || order.compare(position, after) > 0;
      return isBehindStart && (next === null || order.compare(position, next) <= 0);
    })
    .sort((a, b) => order.compare(a.position, b.position))
    .map(({ slot }) => rows.get(slot));
}
