/** Makes pages of matching tasks, in steps. */
import type { Task } from '../../model.ts';
import { type Steps, sortInSteps } from '../../scheduler.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../source.ts';
import type { Rows } from './rows.ts';
import {
  createStretch,
  isHeld,
  type ListOrder,
  type TaskWalk,
  type Visited,
  visitSlots,
  walkTasks,
} from './task-walk.ts';

/** What pages are made of. */
export interface PageContext {
  readonly walk: TaskWalk;
  /** The order of the page. */
  readonly order: ListOrder;
  readonly rows: Rows;
  /** Updates the indexes. */
  catchUp(): void;
}

/**
 * The page at the start of a walk, whose `next` is `null` only when the walk has ended.
 *
 * @param accepts filters the tasks, of which no more than `scan` are examined; `null`: all belong to the list
 * @param total the length of the list, if it is known
 */
export function* takePage(
  { limit, scan, after }: TaskQuery,
  accepts: ((slot: number) => boolean) | null,
  total: number | null,
  context: PageContext,
): Steps<TaskPage> {
  const { walk } = context;
  const found = new Map<string, Visited>();
  let examined = 0;
  const last = yield* walkTasks(walk, after, (slot) => {
    const isMatch = accepts === null || (examined < scan && accepts(slot));
    if (isMatch ? found.size >= limit : examined >= scan) return false;
    examined++;
    if (isMatch) note(context, found, slot);
    return true;
  });
  const next = limit > 0 ? last : null;
  return { tasks: yield* presentTasks([...found.values()], after, next, context), next, total };
}

/**
 * The page after `after`, and the number of all tasks that match.
 *
 * @param slots contain all tasks that match
 */
export function* takeWholePage(
  { limit, after }: TaskQuery,
  slots: readonly ArrayLike<number>[],
  accepts: (slot: number) => boolean,
  context: PageContext,
): Steps<TaskPage> {
  const { walk, order } = context;
  const found = new Map<string, Visited>();
  yield* visitSlots(walk, slots, (slot) => {
    if (accepts(slot)) note(context, found, slot);
  });
  const sorted = yield* sortInSteps([...found.values()], (a, b) => order.compare(a.position, b.position));
  const start = after === null ? 0 : firstBehind(sorted, after, order);
  const page = sorted.slice(start, start + limit);
  const last = start + limit < sorted.length ? page.at(-1) : undefined;
  const next = last?.position ?? null;
  return { tasks: yield* presentTasks(page, after, next, context), next, total: sorted.length };
}

/** A task that is visited again keeps its first position: it is on one page only. */
function note({ walk, order }: PageContext, found: Map<string, Visited>, slot: number): void {
  const id = walk.records.ids[slot] as string;
  if (!found.has(id)) found.set(id, { slot, position: order.positionOf(slot) });
}

function firstBehind(sorted: readonly Visited[], after: TaskPosition, order: ListOrder): number {
  let start = 0;
  let end = sorted.length;
  while (start < end) {
    const middle = (start + end) >> 1;
    if (order.compare((sorted[middle] as Visited).position, after) > 0) end = middle;
    else start = middle + 1;
  }
  return start;
}

/**
 * The tasks of a page in their present order. One that has moved to another page meanwhile is left out: a later page
 * lists it, and on an earlier page clients find it by `since`.
 */
function* presentTasks(
  page: readonly Visited[],
  after: TaskPosition | null,
  next: TaskPosition | null,
  { walk: { records }, rows, order, catchUp }: PageContext,
): Steps<Task[]> {
  let isOver = createStretch({ isSearch: true });
  for (const entry of page) {
    // Makes the task in advance, since redacting its texts may take long. It stays cached until it changes.
    if (isHeld(records, entry)) rows.get(entry.slot);
    if (!isOver()) continue;
    yield;
    isOver = createStretch({ isSearch: true });
  }
  catchUp();
  return page
    .filter((entry) => isHeld(records, entry))
    .map(({ slot, position: before }) => ({ slot, before, position: order.positionOf(slot) }))
    .filter(({ position, before }) => {
      if (order.compare(position, before) === 0) return true;
      const isBehindStart = after === null || order.compare(position, after) > 0;
      return isBehindStart && (next === null || order.compare(position, next) <= 0);
    })
    .sort((a, b) => order.compare(a.position, b.position))
    .map(({ slot }) => rows.get(slot));
}
