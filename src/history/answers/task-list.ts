/** Answers the task list from the indexes. */
import type { Awaitable, TaskPage, TaskPosition, TaskQuery, TaskSort } from '../../source.ts';
import type { SeekTarget } from '../index/ordered-slots.ts';
import type { SlotWalk } from '../index/slot-walk.ts';
import type { TaskIndex } from '../index/task-index.ts';
import { compareText, placeOf } from '../index/task-orders.ts';
import { type Candidates, createCandidates, walkTogether } from '../merge/candidates.ts';
import type { Folded } from '../merge/folded.ts';
import type { Records } from '../table/records.ts';
import type { Rows } from './rows.ts';
import { type ListOrder, noteSearched, type Steps, searchTexts } from './task-search.ts';

/** The task list. The indexes must have caught up. */
export interface TaskList {
  list(query: TaskQuery): Awaitable<TaskPage>;
  /** Every task that passes the filters but the text, in no order. */
  slots(query: TaskQuery): number[];
}

/** @param fold folds one slot */
export function createTaskList(
  records: Records,
  index: TaskIndex,
  rows: Rows,
  fold: (slot: number) => Folded,
): TaskList {
  const candidatesOf = createCandidates(records, index);
  const idOf = (slot: number) => records.ids[slot] as string;
  const byId = (a: number, b: number) => compareText(records.ids[a] as string, records.ids[b] as string);

  /** The value a slot is sorted by, as a client's cursor holds it. */
  function sortValue(sort: TaskSort, slot: number): number | string | null {
    if (sort === 'name') {
      const label = records.name[slot] as number;
      return label === 0 ? null : records.names.text(label);
    }
    if (sort === 'state') return records.states.text(records.state[slot] as number);
    const value = sort === 'timestamp' ? (records.timestamp[slot] as number) : fold(slot)[sort];
    return Number.isNaN(value) ? null : value;
  }

  function positionOf(sort: TaskSort, slot: number): TaskPosition {
    return { key: sortValue(sort, slot), id: records.ids[slot] as string };
  }

  function compareValues(
    a: number | string | null,
    b: number | string | null,
    order: 'asc' | 'desc',
  ): number {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1;
    return (a < b ? -1 : 1) * (order === 'asc' ? 1 : -1);
  }

  const passes = (candidates: Candidates, slot: number): boolean =>
    candidates.isExact || candidates.matches(slot);

  const orderOf = ({ sort, order }: TaskQuery): ListOrder => ({
    placeOf: (slot) => positionOf(sort, slot),
    compare: (a, b) => compareValues(a.key, b.key, order) || compareText(a.id, b.id),
  });

  /** Takes a page off a walk: all of it passes, or `accepts` decides, looking at no more than `scan` rows. */
  function take(
    walk: SlotWalk,
    query: TaskQuery,
    accepts: ((slot: number) => boolean) | null,
    total: number | null,
  ): TaskPage {
    const { limit, sort, scan } = query;
    const found: number[] = [];
    let looked = 0;
    let last = -1;
    let more = false;
    for (; walk.slot !== -1; walk.advance()) {
      if (accepts !== null && looked >= scan) {
        more = true;
        break;
      }
      looked++;
      const isMatch = accepts === null || accepts(walk.slot);
      if (isMatch && found.length >= limit) {
        more = true;
        break;
      }
      last = walk.slot;
      if (isMatch) found.push(walk.slot);
    }
    return {
      tasks: found.map(rows.get),
      next: more && limit > 0 && last !== -1 ? positionOf(sort, last) : null,
      total,
    };
  }

  function listByTime(query: TaskQuery, candidates: Candidates): Awaitable<TaskPage> {
    const { scan } = query;
    const after = query.after === null ? null : placeOf(query.after, idOf);
    const walkFrom = (place: SeekTarget | null) => walkTogether(candidates.lists, query, place, byId);
    if (candidates.isExact) return take(walkFrom(after), query, null, candidates.count);
    const accepts = (slot: number) => passes(candidates, slot);
    if (query.q !== null) {
      const isWhole = candidates.count <= scan;
      return search(walkFrom(isWhole ? null : after), query, isWhole, accepts);
    }
    if (candidates.count > scan) return take(walkFrom(after), query, accepts, null);
    const matching: number[] = [];
    for (const walk = walkFrom(null); walk.slot !== -1; walk.advance()) {
      if (accepts(walk.slot)) matching.push(walk.slot);
    }
    return pageOf(matching, query);
  }

  /** @param isWhole whether the walk meets no more than may be looked at */
  function search(
    walk: Steps,
    query: TaskQuery,
    isWhole: boolean,
    accepts: (slot: number) => boolean,
  ): Promise<TaskPage> {
    const order = orderOf(query);
    const most = isWhole ? Number.POSITIVE_INFINITY : query.scan;
    return searchTexts(noteSearched(walk, most, accepts, order), query, isWhole, {
      records,
      rows,
      order,
      catchUp: index.catchUp,
    });
  }

  /** A page of all that match, in their order. */
  function pageOf(matching: readonly number[], query: TaskQuery): TaskPage {
    const { sort, order, limit, after } = query;
    let start = 0;
    if (after !== null) {
      while (start < matching.length && !isBehind(matching[start] as number, after)) start++;
    }
    const page = matching.slice(start, start + limit);
    const last = page[page.length - 1];
    const more = last !== undefined && start + limit < matching.length;
    return { tasks: page.map(rows.get), next: more ? positionOf(sort, last) : null, total: matching.length };

    function isBehind(slot: number, place: TaskPosition): boolean {
      const byValue = compareValues(sortValue(sort, slot), place.key, order);
      return byValue !== 0 ? byValue > 0 : compareText(records.ids[slot] as string, place.id) > 0;
    }
  }

  function collect(query: TaskQuery, candidates: Candidates): number[] {
    const matching: number[] = [];
    const walk = walkTogether(candidates.lists, query, null, byId);
    for (; walk.slot !== -1; walk.advance()) {
      if (passes(candidates, walk.slot)) matching.push(walk.slot);
    }
    return matching;
  }

  async function listBySort(
    query: TaskQuery,
    candidates: Candidates,
    sort: Exclude<TaskSort, 'timestamp'>,
  ): Promise<TaskPage> {
    const isFiltered = !candidates.isExact || candidates.lists[0] !== index.all || query.since !== null;
    if ((isFiltered || query.until !== null) && candidates.count <= query.scan) {
      const values = new Map<number, number | string | null>();
      const matching = collect(query, candidates);
      for (const slot of matching) values.set(slot, sortValue(sort, slot));
      matching.sort(
        (a, b) => compareValues(values.get(a) ?? null, values.get(b) ?? null, query.order) || byId(a, b),
      );
      if (query.q === null) return pageOf(matching, query);
      return search(walkOf(matching), query, true, () => true);
    }
    const sorted = await index.sorts.get(sort);
    index.catchUp();
    const walk = sorted.walk(query.order, query.after);
    if (!isFiltered && query.until === null) return take(walk, query, null, sorted.size);
    const accepts = (slot: number): boolean => isWithin(slot, query) && candidates.matches(slot);
    return query.q === null ? take(walk, query, accepts, null) : search(walk, query, false, accepts);
  }

  function isWithin(slot: number, { since, until }: TaskQuery): boolean {
    if (since === null && until === null) return true;
    const time = records.timestamp[slot] as number;
    if (Number.isNaN(time)) return false;
    return (since === null || time >= since.getTime()) && (until === null || time < until.getTime());
  }

  return {
    list(query) {
      const candidates = candidatesOf(query);
      return query.sort === 'timestamp'
        ? listByTime(query, candidates)
        : listBySort(query, candidates, query.sort);
    },
    slots: (query) => collect(query, candidatesOf(query)),
  };
}

/** Slots in the order that they are given in. */
function walkOf(slots: readonly number[]): Steps {
  let at = 0;
  const walk = { slot: slots[0] ?? -1, advance };
  function advance(): void {
    at += 1;
    walk.slot = slots[at] ?? -1;
  }
  return walk;
}
