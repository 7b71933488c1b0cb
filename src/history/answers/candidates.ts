/** Which tasks have to be examined to answer a query: the smallest index that covers one of its filters. */
import { mergeSorted } from '../../merge-sorted.ts';
import { holdsFigure, holdsText } from '../../select/apply-query.ts';
import { waitBetween } from '../../select/durations.ts';
import { type ConditionFigure, isFigureCondition, type TaskCondition } from '../../source/task-condition.ts';
import type { TaskQuery } from '../../source.ts';
import {
  beforeKey,
  behindKey,
  createOrderedSlots,
  NO_KEY,
  type OrderedSlots,
  type SeekTarget,
} from '../index/ordered-slots.ts';
import { INDEXED_COLUMNS, type IndexedColumn, type TaskIndex } from '../index/task-index.ts';
import { orderById } from '../index/task-orders.ts';
import type { TaskLife } from '../merge/life.ts';
import { readLife } from '../table/record-table.ts';
import type { Records } from '../table/records.ts';

/** Tasks to examine, by time of the last change. */
export type Candidates = ReturnType<typeof candidatesOf>;

/** One way to reach the tasks of a query. */
interface AccessPath {
  readonly size: number;
  readonly lists: () => OrderedSlots[];
  readonly members?: () => readonly number[];
}

const VALUES_OF: Readonly<Record<IndexedColumn, (query: TaskQuery) => readonly string[]>> = {
  state: (query) => query.states,
  name: (query) => query.names,
  worker: (query) => query.workers,
  queue: (query) => query.queues,
  cause: (query) => query.causes,
};

/** Values of a column whose tasks are merged into one list, at most. */
const MOST_MERGED = 64;
/** In columns with more values, prefixes are not searched. */
const MOST_COMPARED = 2_000;

/** The candidates of a query. The indexes must have caught up. */
export function candidatesOf(query: TaskQuery, records: Records, index: TaskIndex) {
  const found = query.conditions.map((condition) => conditionPath(condition, records, index));
  const known = found.filter((path) => path !== null);
  const paths = [...accessPaths(query, records, index), ...known];
  let best: AccessPath | null = null;
  for (const path of paths) if (best === null || path.size < best.size) best = path;
  const lists = best?.lists ?? (() => [index.all]);
  const members = best?.members?.() ?? null;
  return {
    /** Sequences of tasks; each task is in one of them. They are valid until the indexes change. */
    lists,
    /** All candidates in no order, if there is no sorted sequence of them; else `null`. */
    members,
    /** Whether these are all tasks. */
    isAll: best === null,
    /** How many there are within `since` and `until`. */
    count: members?.length ?? lists().reduce((total, list) => total + countWithin(list, query), 0),
    /** Whether all candidates within the time pass, so that none has to be examined. */
    isExact: paths.length <= 1 && known.length === found.length && query.q === null,
    /** Whether a task passes every filter but time and text. */
    matches: (slot: number): boolean => passesFilters(slot, query, records, index),
  };
}

/** Every filter that an index covers, with the number of tasks that pass it. */
function accessPaths(query: TaskQuery, records: Records, index: TaskIndex): AccessPath[] {
  const paths: AccessPath[] = [];
  for (const column of INDEXED_COLUMNS) {
    const values = VALUES_OF[column](query);
    if (values.length === 0) continue;
    const { strings, list, size } = index.columns[column];
    const numbers = [...new Set(values.map(strings.find))];
    paths.push({
      size: numbers.reduce((sum, number) => sum + size(number), 0),
      lists: () => numbers.flatMap((number) => list(number) ?? []),
    });
  }
  const { rootId, parentId, groupId, engineStates } = query;
  // No recorded task has an engine state.
  if (engineStates.length > 0) paths.push({ size: 0, lists: () => [] });
  if (rootId !== null) {
    paths.push({ size: index.roots.size(rootId) + 1, lists: () => rootLists(rootId, records, index) });
  }
  const { byParent, byGroup } = index;
  for (const [groups, key] of [[byParent, parentId] as const, [byGroup, groupId] as const]) {
    if (key === null) continue;
    paths.push({ size: groups.size(key), lists: () => [], members: () => groups.list(key) });
  }
  return paths;
}

/** `null`: no index has the tasks that meet the condition. */
function conditionPath(condition: TaskCondition, records: Records, index: TaskIndex): AccessPath | null {
  if (isFigureCondition(condition)) return null;
  const { field, values, prefixes, isNegated } = condition;
  if (field === 'id' && !isNegated && prefixes.length === 0) {
    const slots = [...new Set(values)].flatMap((id) => records.slots.get(id) ?? []);
    const members = slots.filter((slot) => records.indexed[slot] === 1);
    return { size: members.length, lists: () => [], members: () => members };
  }
  // Tasks without a value meet a negated condition, and only a state is always known.
  if (!isIndexed(field) || (isNegated && field !== 'state')) return null;
  const { strings, list, size } = index.columns[field];
  if (strings.count > MOST_COMPARED) return null;
  const texts = strings.all().filter((text) => holdsText(condition, text));
  const numbers = texts.map(strings.find).filter((number) => size(number) > 0);
  if (numbers.length > MOST_MERGED) return null;
  return {
    size: numbers.reduce((sum, number) => sum + size(number), 0),
    lists: () => numbers.flatMap((number) => list(number) ?? []),
  };
}

function rootLists(root: string, records: Records, index: TaskIndex): OrderedSlots[] {
  const lists: OrderedSlots[] = [];
  const own = records.slots.get(root);
  if (own !== undefined && records.roots[own] === root) lists.push(sorted([own], records, index));
  const members = index.roots.ordered(root);
  if (members !== null) lists.push(members);
  return lists;
}

function sorted(slots: readonly number[], records: Records, index: TaskIndex): OrderedSlots {
  const list = createOrderedSlots(orderById(records));
  for (const slot of slots) if (records.indexed[slot] === 1) list.insert(index.keyOf(slot), slot);
  return list;
}

function passesFilters(slot: number, query: TaskQuery, records: Records, index: TaskIndex): boolean {
  if (query.engineStates.length > 0) return false;
  for (const column of INDEXED_COLUMNS) {
    const values = VALUES_OF[column](query);
    if (values.length === 0) continue;
    const string = records[column][slot] as number;
    if (string === 0 || !values.includes(index.columns[column].strings.text(string))) return false;
  }
  if (!slotPasses(slot, query.conditions, records, index)) return false;
  if (query.rootId !== null && records.roots[slot] !== query.rootId) return false;
  if (query.parentId !== null && records.parents[slot] !== query.parentId) return false;
  return query.groupId === null || records.extras.get(slot)?.groupId === query.groupId;
}

function countWithin(list: OrderedSlots, { since, until }: TaskQuery): number {
  if (since === null && until === null) return list.size;
  const end = list.countBefore(beforeKey(until === null ? NO_KEY : until.getTime()));
  return Math.max(0, end - (since === null ? 0 : list.countBefore(beforeKey(since.getTime()))));
}

/** Copies all candidates within `since` and `until`, in no order. */
export function copyCandidates(
  { lists, members }: Candidates,
  { since, until }: TaskQuery,
): ArrayLike<number>[] {
  if (members !== null) return [members];
  const from = since && beforeKey(since.getTime());
  return lists().flatMap((list) => list.copy(from, until && beforeKey(until.getTime())));
}

/**
 * Walks all candidates in order, within `since` and `until`.
 *
 * @param after begin after this position; `null`: at the start of the requested time
 */
export function* walkCandidates(
  { lists }: Candidates,
  { order, since, until }: TaskQuery,
  after: SeekTarget | null,
  records: Records,
  index: TaskIndex,
): Generator<number> {
  const from = since === null ? Number.NEGATIVE_INFINITY : since.getTime();
  const to = until === null ? NO_KEY : until.getTime();
  // A descending walk begins behind the equal keys at `until`, which is itself excluded.
  const start = order === 'asc' ? since && beforeKey(from) : until && behindKey(to);
  const byId = orderById(records);
  const walks = lists().map((list) => list.walk(order, after ?? start));
  const [only] = walks;
  const merged = walks.length === 1 && only !== undefined ? only : mergeSorted(walks, byTime);
  if (since === null && until === null) {
    yield* merged;
    return;
  }
  for (const slot of merged) {
    const key = index.keyOf(slot);
    if (order === 'asc' ? key >= to : key < from || key === NO_KEY) return;
    yield slot;
  }

  function byTime(a: number, b: number): number {
    const [one, other] = [index.keyOf(a), index.keyOf(b)];
    if (one === other) return byId(a, b);
    if (one === NO_KEY || other === NO_KEY) return one === NO_KEY ? 1 : -1;
    return order === 'asc' ? one - other : other - one;
  }
}

/** Whether a task meets all conditions, by the same rules as `passesConditions` for its row. */
function slotPasses(
  slot: number,
  conditions: readonly TaskCondition[],
  records: Records,
  { columns }: TaskIndex,
): boolean {
  let life: TaskLife | null = null;
  for (const condition of conditions) {
    if (isFigureCondition(condition)) {
      life ??= readLife(records, slot);
      if (!holdsFigure(condition, figureOf(life, condition.field, records, slot))) return false;
    } else if (!holdsText(condition, textOf(slot, condition.field, records, columns))) return false;
  }
  return true;
}

function textOf(slot: number, field: string, records: Records, columns: TaskIndex['columns']): string | null {
  if (field === 'id') return records.ids[slot] as string;
  if (!isIndexed(field)) return null;
  const string = records[field][slot] as number;
  return string === 0 ? null : columns[field].strings.text(string);
}

/** Whether an index has the tasks of each value of a field. */
function isIndexed(field: string): field is IndexedColumn {
  return INDEXED_COLUMNS.some((column) => column === field);
}

function figureOf(life: TaskLife, field: ConditionFigure, { extras }: Records, slot: number): number | null {
  if (field !== 'wait') return life[field];
  return waitBetween(life.waitedSince, extras.get(slot)?.eta ?? null, life.started);
}
