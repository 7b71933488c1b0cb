/** Answers the task list from the indexes. */
import type { Steps } from '../../scheduler.ts';
import type { TaskPage, TaskQuery } from '../../source.ts';
import type { TaskIndex } from '../index/task-index.ts';
import { targetOf } from '../index/task-orders.ts';
import type { Records } from '../table/records.ts';
import { type Candidates, candidatesOf, copyCandidates, walkCandidates } from './candidates.ts';
import type { Rows } from './rows.ts';
import { type PageContext, takePage, takeWholePage } from './task-page.ts';
import { listOrder, type TaskWalk, visitSlots } from './task-walk.ts';

/** The task list. The indexes must have caught up. */
export interface TaskList {
  /** Answers a query; `null`: the index of its order must be built first. */
  list(query: TaskQuery): Steps<TaskPage | null>;
  /** Visits every task that passes the filters but the text. */
  visit(query: TaskQuery, visit: (slot: number) => void): Steps<void>;
}

/** What the list is read from. */
interface ListContext {
  readonly records: Records;
  readonly index: TaskIndex;
  readonly rows: Rows;
  /** Brings indexes and records up to date. */
  readonly catchUp: () => void;
}

/** @param context what the list is read from */
export function createTaskList(context: ListContext): TaskList {
  const { records, index, rows } = context;
  return {
    list: (query) => listTasks(context, query),
    *visit(query, visit) {
      const candidates = candidatesOf(query, records, index);
      const accepts = acceptorOf(query, candidates, rows);
      const isSearch = query.q !== null;
      yield* visitSlots({ records, isSearch }, copyCandidates(candidates, query), (slot) => {
        if (isWithin(records, slot, query) && accepts(slot)) visit(slot);
      });
    },
  };
}

function* listTasks(context: ListContext, query: TaskQuery): Steps<TaskPage | null> {
  const { records, index, rows, catchUp } = context;
  const { sort, scan, since, until, q } = query;
  const candidates = candidatesOf(query, records, index);
  const { count, members, isExact, isAll } = candidates;
  const accepts = acceptorOf(query, candidates, rows);
  const isMatch = (slot: number): boolean => isWithin(records, slot, query) && accepts(slot);
  const order = listOrder(query, records);
  const walk = { records, order, isSearch: q !== null, from: walkByTime(context, query, candidates) };
  const page: PageContext = { walk, order, rows, catchUp };
  const isTimed = since !== null || until !== null;
  const isByTime = sort === 'timestamp';
  // The index of the order holds the tasks of the list and no others.
  const isIndexed = isExact && members === null && (isByTime || (isAll && !isTimed));
  if (!isIndexed && (members !== null || count <= scan)) {
    return yield* takeWholePage(query, copyCandidates(candidates, query), isMatch, page);
  }
  if (isByTime) return yield* takePage(query, isIndexed ? null : accepts, isIndexed ? count : null, page);
  const sorted = index.sorts.get(sort);
  if (sorted === null) return null;
  const from: TaskWalk['from'] = (after) => sorted.walk(query.order, after);
  const sortedPage = { ...page, walk: { ...walk, from } };
  return yield* takePage(query, isIndexed ? null : isMatch, isIndexed ? sorted.size : null, sortedPage);
}

/** Walks the candidates by time of the last change. */
function walkByTime(
  { records, index }: ListContext,
  query: TaskQuery,
  candidates: Candidates,
): TaskWalk['from'] {
  return (after) =>
    walkCandidates(candidates, query, after === null ? null : targetOf(after, records), records, index);
}

/** Whether a task passes the filters and contains the text. */
function acceptorOf(
  { q, search }: TaskQuery,
  { matches }: Candidates,
  rows: Rows,
): (slot: number) => boolean {
  return q === null ? matches : (slot) => matches(slot) && search(rows.brief(slot));
}

function isWithin(records: Records, slot: number, { since, until }: TaskQuery): boolean {
  if (since === null && until === null) return true;
  const time = records.timestamp[slot] as number;
  if (Number.isNaN(time)) return false;
  return (since === null || time >= since.getTime()) && (until === null || time < until.getTime());
}
