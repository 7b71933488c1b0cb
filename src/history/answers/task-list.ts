/** Answers the task list from the indexes. */
import type { Awaitable, TaskPage, TaskQuery, TaskSort } from '../../source.ts';
import type { SeekTarget } from '../index/slot-blocks.ts';
import type { TaskIndex } from '../index/task-index.ts';
import { targetOf } from '../index/task-orders.ts';
import type { Records } from '../table/records.ts';
import { type Candidates, candidatesOf, walkCandidates } from './candidates.ts';
import { listOrder } from './list-order.ts';
import type { Rows } from './rows.ts';
import { slicePage, takePage } from './task-page.ts';
import { collectEntries, type SearchContext, searchTexts } from './task-search.ts';

/** The task list. The indexes must have caught up. */
export interface TaskList {
  list(query: TaskQuery): Awaitable<TaskPage>;
  /** Every task that passes the filters but the text, in no order. */
  slots(query: TaskQuery): number[];
}

/** What the list is read from. */
interface ListContext {
  readonly records: Records;
  readonly index: TaskIndex;
  readonly rows: Rows;
  /** Brings indexes and records up to date. */
  readonly catchUp: () => void;
}

/** @param catchUp brings indexes and records up to date */
export function createTaskList(
  records: Records,
  index: TaskIndex,
  rows: Rows,
  catchUp: () => void,
): TaskList {
  const context: ListContext = { records, index, rows, catchUp };
  return {
    list(query) {
      const candidates = candidatesOf(query, records, index);
      return query.sort === 'timestamp'
        ? listByTime(context, query, candidates)
        : listBySort(context, query, candidates, query.sort);
    },
    slots: (query) => collect(context, query, candidatesOf(query, records, index)),
  };
}

/** All matching candidates, by time. */
function collect({ records, index }: ListContext, query: TaskQuery, candidates: Candidates): number[] {
  const matching: number[] = [];
  for (const slot of walkCandidates(candidates, query, null, records, index)) {
    if (candidates.isExact || candidates.matches(slot)) matching.push(slot);
  }
  return matching;
}

function listByTime(context: ListContext, query: TaskQuery, candidates: Candidates): Awaitable<TaskPage> {
  const { records, index, rows } = context;
  const { matches, count, isExact } = candidates;
  const order = listOrder(query, records);
  const after = query.after === null ? null : targetOf(query.after, records);
  const walkFrom = (target: SeekTarget | null) => walkCandidates(candidates, query, target, records, index);
  if (isExact) return takePage(walkFrom(after), query, null, count, order, rows);
  const isWhole = count <= query.scan;
  if (query.q !== null) {
    const most = isWhole ? Number.POSITIVE_INFINITY : query.scan;
    const entries = collectEntries(walkFrom(isWhole ? null : after), most, matches, order);
    return searchTexts(entries, query, isWhole, searchContext(context, query));
  }
  if (!isWhole) return takePage(walkFrom(after), query, matches, null, order, rows);
  return slicePage(collect(context, query, candidates), query, order, rows);
}

async function listBySort(
  context: ListContext,
  query: TaskQuery,
  candidates: Candidates,
  sort: Exclude<TaskSort, 'timestamp'>,
): Promise<TaskPage> {
  const { records, index, rows, catchUp } = context;
  const { since, until, scan, q } = query;
  const order = listOrder(query, records);
  const isTimed = since !== null || until !== null;
  const isFiltered = isTimed || !candidates.isExact || candidates.lists[0] !== index.all;
  if (isFiltered && candidates.count <= scan) {
    const entries = collect(context, query, candidates)
      .map((slot) => ({ slot, position: order.positionOf(slot) }))
      .sort((a, b) => order.compare(a.position, b.position));
    if (q !== null) return searchTexts({ entries, end: null }, query, true, searchContext(context, query));
    return slicePage(
      entries.map(({ slot }) => slot),
      query,
      order,
      rows,
    );
  }
  const sorted = await index.sorts.get(sort);
  catchUp();
  const walk = sorted.walk(query.order, query.after);
  if (!isFiltered) return takePage(walk, query, null, sorted.size, order, rows);
  const accepts = (slot: number): boolean => isWithin(records, slot, query) && candidates.matches(slot);
  if (q === null) return takePage(walk, query, accepts, null, order, rows);
  return searchTexts(collectEntries(walk, scan, accepts, order), query, false, searchContext(context, query));
}

function searchContext({ records, rows, catchUp }: ListContext, query: TaskQuery): SearchContext {
  return { records, rows, order: listOrder(query, records), catchUp };
}

function isWithin(records: Records, slot: number, { since, until }: TaskQuery): boolean {
  if (since === null && until === null) return true;
  const time = records.timestamp[slot] as number;
  if (Number.isNaN(time)) return false;
  return (since === null || time >= since.getTime()) && (until === null || time < until.getTime());
}
