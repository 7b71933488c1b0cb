/** Which tasks have to be looked at to answer a query: the smallest index that covers one of its filters. */
import type { TaskQuery } from '../../source.ts';
import { createOrderedSlots, NO_KEY, type OrderedSlots, type SeekTarget } from '../index/ordered-slots.ts';
import type { SlotWalk } from '../index/slot-walk.ts';
import { LABELLED, type Labelled, type TaskIndex } from '../index/task-index.ts';
import { compareText } from '../index/task-orders.ts';
import type { Records } from '../table/records.ts';

/** Tasks to look at, by time of the last change. */
export interface Candidates {
  /** Their lists; a task is in one of them. */
  readonly lists: readonly OrderedSlots[];
  /** How many there are within `since` and `until`. */
  readonly count: number;
  /** Whether more than the list and the time has to be asked of each. */
  readonly isExact: boolean;
  /** Whether a task passes every filter but time and text. */
  matches(slot: number): boolean;
}

const VALUES_OF: Readonly<Record<Labelled, (query: TaskQuery) => readonly string[]>> = {
  state: (query) => query.states,
  name: (query) => query.names,
  worker: (query) => query.workers,
  queue: (query) => query.queues,
};

/** @returns a function that finds the candidates of a query */
export function createCandidates(records: Records, index: TaskIndex) {
  const byId = (a: number, b: number) => compareText(records.ids[a] as string, records.ids[b] as string);

  function listOf(slots: readonly number[]): OrderedSlots {
    const list = createOrderedSlots(byId);
    for (const slot of slots) if (records.indexed[slot] === 1) list.insert(index.keyOf(slot), slot);
    return list;
  }

  function rootLists(root: string): OrderedSlots[] {
    const lists: OrderedSlots[] = [];
    const own = records.slots.get(root);
    if (own !== undefined && records.roots[own] === root) lists.push(listOf([own]));
    const members = index.roots.ordered(root, index.keyOf);
    if (members !== null) lists.push(members);
    return lists;
  }

  /** Every way to reach the tasks of this query, each with its size. */
  function ways(query: TaskQuery): { size: number; lists: () => OrderedSlots[] }[] {
    const found: { size: number; lists: () => OrderedSlots[] }[] = [];
    for (const column of LABELLED) {
      const values = VALUES_OF[column](query);
      if (values.length === 0) continue;
      const labels = new Set(values.map((value) => index.labelsOf(column).find(value)));
      const lists = [...labels].flatMap((label) => index.labelled(column, label) ?? []);
      found.push({ size: sum(lists), lists: () => lists });
    }
    const { rootId, parentId, groupId } = query;
    if (rootId !== null) found.push({ size: index.roots.size(rootId) + 1, lists: () => rootLists(rootId) });
    if (parentId !== null) {
      found.push({
        size: index.byParent.size(parentId),
        lists: () => [listOf(index.byParent.list(parentId))],
      });
    }
    if (groupId !== null) {
      found.push({ size: index.byGroup.size(groupId), lists: () => [listOf(index.byGroup.list(groupId))] });
    }
    return found;
  }

  return function candidates(query: TaskQuery): Candidates {
    const all = ways(query);
    let best: (typeof all)[number] | null = null;
    for (const way of all) if (best === null || way.size < best.size) best = way;
    const lists = best === null ? [index.all] : best.lists();
    return {
      lists,
      count: lists.reduce((total, list) => total + countWithin(list, query), 0),
      isExact: all.length <= 1 && query.q === null,
      matches: (slot) => {
        for (const column of LABELLED) {
          const values = VALUES_OF[column](query);
          if (values.length === 0) continue;
          const label = records[column][slot] as number;
          if (label === 0 || !values.includes(index.labelsOf(column).text(label))) return false;
        }
        if (query.rootId !== null && records.roots[slot] !== query.rootId) return false;
        if (query.parentId !== null && records.parents[slot] !== query.parentId) return false;
        return query.groupId === null || records.extras.get(slot)?.groupId === query.groupId;
      },
    };
  };
}

function sum(lists: readonly OrderedSlots[]): number {
  return lists.reduce((total, list) => total + list.size, 0);
}

/** The place before every slot of this key. */
function before(key: number): SeekTarget {
  return { key, compare: () => 1 };
}

/** The place behind every slot of this key. */
function behind(key: number): SeekTarget {
  return { key, compare: () => -1 };
}

function countWithin(list: OrderedSlots, { since, until }: TaskQuery): number {
  if (since === null && until === null) return list.size;
  const end = list.countBefore(before(until === null ? NO_KEY : until.getTime()));
  return Math.max(0, end - (since === null ? 0 : list.countBefore(before(since.getTime()))));
}

/**
 * Walks several lists as one, within `since` and `until`.
 *
 * @param after begin behind this place; `null`: at the start of the time asked for
 */
export function walkTogether(
  lists: readonly OrderedSlots[],
  query: TaskQuery,
  after: SeekTarget | null,
  byId: (a: number, b: number) => number,
): SlotWalk {
  const { order, since, until } = query;
  const isBounded = since !== null || until !== null;
  // Descending walks begin behind the run of `until`, which is itself excluded.
  const start = order === 'asc' ? since && before(since.getTime()) : until && behind(until.getTime());
  const walks = lists.map((list) => list.walk(order, after ?? start));
  const walk: SlotWalk = { slot: -1, key: NO_KEY, advance };
  let current: SlotWalk | undefined;
  choose();
  return walk;

  function advance(): void {
    current?.advance();
    choose();
  }

  function choose(): void {
    current = undefined;
    for (const candidate of walks) {
      if (candidate.slot !== -1 && (current === undefined || comesFirst(candidate, current)))
        current = candidate;
    }
    walk.slot = current === undefined || isOutside(current.key) ? -1 : current.slot;
    walk.key = current?.key ?? NO_KEY;
  }

  function comesFirst(a: SlotWalk, b: SlotWalk): boolean {
    if (a.key === b.key) return byId(a.slot, b.slot) < 0;
    if (a.key === NO_KEY || b.key === NO_KEY) return b.key === NO_KEY;
    return order === 'asc' ? a.key < b.key : a.key > b.key;
  }

  function isOutside(key: number): boolean {
    if (!isBounded) return false;
    if (key === NO_KEY) return true;
    return order === 'asc'
      ? until !== null && key >= until.getTime()
      : since !== null && key < since.getTime();
  }
}
