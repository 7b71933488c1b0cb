/**
 * The indexes of the task list: all tasks, and those of each state, name, worker, queue, cause and root, each by
 * time of the last change. Most values (roots, invented names) have one task or a few, for which a sorted sequence would
 * take many times the memory: few are kept in any order, many sorted.
 */
import type { FindCause } from '../../causes/find-cause.ts';
import type { TaskCause, TaskTextField } from '../../model.ts';
import { lifeOf, type TaskLife } from '../merge/life.ts';
import { KIND_ORDER, type TaskRecord } from '../merge/record.ts';
import { etaOf } from '../merge/task.ts';
import type { InternedStrings } from '../table/interned-strings.ts';
import { FACT, freeSlot, type Records } from '../table/records.ts';
import { createSlotGroups, type SlotGroups } from '../table/relation-store.ts';
import { type CompareSlots, createOrderedSlots, NO_KEY, type OrderedSlots } from './ordered-slots.ts';
import {
  createEtaIndex,
  createSortIndexes,
  type EtaIndex,
  orderById,
  type SortIndexes,
} from './task-orders.ts';

/** Columns of interned strings that are indexed. */
export const INDEXED_COLUMNS = ['state', 'name', 'worker', 'queue', 'cause'] as const;

/** One of {@link INDEXED_COLUMNS}. */
export type IndexedColumn = (typeof INDEXED_COLUMNS)[number];

/** The indexes. */
export interface TaskIndex extends Relatives {
  readonly all: OrderedSlots;
  readonly roots: RootIndex;
  readonly sorts: SortIndexes;
  readonly etas: EtaIndex;
  readonly columns: Readonly<Record<IndexedColumn, ColumnIndex>>;
  /** Moves a task from the root that its record names to another. */
  setRoot(slot: number, root: string | null): void;
  /**
   * Enters a task, or moves it to where its record belongs now.
   *
   * @param cause of its failure, as it was found before. Default: what its texts tell
   */
  update(slot: number, record: TaskRecord, cause?: TaskCause | null): void;
  /** Takes a task out of all indexes and frees its slot. */
  drop(slot: number): void;
  /** The key of a slot in the order by time of the last change. */
  keyOf(slot: number): number;
}

/** Everything that {@link updateTask} and {@link dropTask} change. */
interface IndexState extends Relatives {
  readonly records: Records;
  readonly findCause: FindCause;
  readonly all: OrderedSlots;
  readonly roots: RootIndex;
  readonly sorts: SortIndexes;
  readonly etas: EtaIndex;
  readonly columns: Readonly<Record<IndexedColumn, ColumnIndex>>;
}

/** @param now milliseconds */
export function createTaskIndex(records: Records, now: () => number, findCause: FindCause): TaskIndex {
  const compare = orderById(records);
  const order: MemberOrder = { compare, keyOf: (slot) => keyOf(records, slot) };
  const state: IndexState = {
    records,
    findCause,
    all: createOrderedSlots(compare),
    roots: createRootIndex(order),
    sorts: createSortIndexes(records, now),
    etas: createEtaIndex(compare),
    columns: {
      state: createColumnIndex(records.states, order),
      name: createColumnIndex(records.names, order),
      worker: createColumnIndex(records.workers, order),
      queue: createColumnIndex(records.queues, order),
      cause: createColumnIndex(records.causes.strings, order),
    },
    ...createRelatives(),
  };
  return {
    ...state,
    keyOf: (slot) => keyOf(records, slot),
    setRoot: (slot, root) => setRoot(state, slot, root),
    update: (slot, record, cause) => updateTask(state, slot, record, cause),
    drop: (slot) => dropTask(state, slot),
  };
}

function keyOf(records: Records, slot: number): number {
  const time = records.timestamp[slot] as number;
  return Number.isNaN(time) ? NO_KEY : time;
}

function setRoot({ records, roots }: IndexState, slot: number, root: string | null): void {
  const id = records.ids[slot] as string;
  const old = records.roots[slot] ?? null;
  if (old !== null && old !== id) roots.remove(old, slot, keyOf(records, slot));
  if (root !== null && root !== id) roots.add(root, slot, keyOf(records, slot));
}

function updateTask(
  index: IndexState,
  slot: number,
  record: TaskRecord,
  given: TaskCause | null | undefined,
): void {
  const { records, all, columns, sorts } = index;
  const life = lifeOf(record.entries, record.runtime);
  const isIndexed = records.indexed[slot] === 1;
  const from = keyOf(records, slot);
  const to = life.timestamp ?? NO_KEY;
  sorts.remove(slot);
  if (isIndexed && from !== to) all.remove(from, slot);
  if (!isIndexed || from !== to) all.insert(to, slot);
  const change: Move = { slot, isIndexed, from, to };
  move(columns.state, records.state, life.state, change);
  move(columns.name, records.name, record.name, change);
  move(columns.worker, records.worker, life.worker, change);
  move(columns.queue, records.queue, record.queue, change);
  const cause = causeOf(records, slot, record, life, index.findCause, given);
  move(columns.cause, records.cause, cause?.id ?? null, change);
  if (cause !== null) noteCause(records, slot, cause, life.finished ?? life.timestamp);
  records.timestamp[slot] = life.timestamp ?? Number.NaN;
  const root = records.roots[slot];
  if (root != null && root !== records.ids[slot] && from !== to) index.roots.move(root, slot, from, to);
  records.indexed[slot] = 1;
  sorts.insert(slot, life);
  const hasStarted = life.kind !== 'retried' && KIND_ORDER[life.kind] > KIND_ORDER.received;
  index.etas.set(slot, hasStarted ? null : etaOf(life, record.eta));
}

function noteCause(
  { causes, cause: numbers }: Records,
  slot: number,
  cause: TaskCause,
  time: number | null,
): void {
  causes.describe(numbers[slot] as number, cause);
  if (time !== null) causes.seen.note(cause.id, time);
}

/** From which time to which a task moves. */
interface Move {
  readonly slot: number;
  /** Whether the task is in the indexes at all. */
  readonly isIndexed: boolean;
  readonly from: number;
  readonly to: number;
}

/** Moves a task from its old string and time to the present ones. @param strings those of the column, by slot */
function move(
  column: ColumnIndex,
  strings: Uint32Array,
  text: string | null,
  { slot, isIndexed, from, to }: Move,
): void {
  const string = text === null ? 0 : column.strings.intern(text);
  const old = strings[slot] as number;
  if (isIndexed && old === string && from === to) return;
  column.enter(string, to, slot);
  if (isIndexed) column.leave(old, from, slot);
  strings[slot] = string;
}

function dropTask(index: IndexState, slot: number): void {
  const { records } = index;
  const key = keyOf(records, slot);
  index.sorts.remove(slot);
  index.all.remove(key, slot);
  for (const column of INDEXED_COLUMNS) {
    index.columns[column].leave(records[column][slot] as number, key, slot);
  }
  const root = records.roots[slot];
  if (root != null && root !== records.ids[slot]) index.roots.remove(root, slot, key);
  removeRelative(index, records, slot);
  index.etas.remove(slot);
  freeSlot(records, slot);
}

/**
 * The cause of a task whose record has been packed. The result is kept as long as the texts: the table may later keep
 * only a part of long ones.
 *
 * @param given the cause found earlier; `undefined`: none was searched
 */
function causeOf(
  records: Records,
  slot: number,
  record: TaskRecord,
  { state, kind }: Pick<TaskLife, 'state' | 'kind'>,
  find: FindCause,
  given: TaskCause | null | undefined,
): TaskCause | null {
  const facts = records.facts[slot] as number;
  if (state !== 'FAILURE' || kind === 'propagated') {
    records.facts[slot] = facts & ~FACT.CAUSE_FOUND;
    return null;
  }
  if (given === undefined && (facts & FACT.CAUSE_FOUND) !== 0)
    return records.causes.read(records.cause[slot] as number);
  records.facts[slot] = facts | FACT.CAUSE_FOUND;
  if (given !== undefined) return given;
  const { exception, traceback } = record;
  return find({
    exception,
    traceback,
    isExceptionCut: isCut(records, slot, record, 'exception'),
    isTracebackCut: isCut(records, slot, record, 'traceback'),
  });
}

/** Whether the sender has cut the text, or the table keeps only its beginning and nothing else is known. */
function isCut(
  { extras, values }: Records,
  slot: number,
  record: TaskRecord,
  field: Extract<TaskTextField, 'exception' | 'traceback'>,
): boolean {
  if (record.truncated.includes(field)) return true;
  const { text, cut } = values.read(extras.get(slot)?.[field] ?? null);
  return cut && text === record[field];
}

/** Tasks by the ids of their relatives. */
export interface Relatives {
  readonly byParent: SlotGroups;
  readonly byGroup: SlotGroups;
  /** Header tasks by the id of their chord's body. */
  readonly byChord: SlotGroups;
}

/** @returns empty groups */
function createRelatives(): Relatives {
  return { byParent: createSlotGroups(), byGroup: createSlotGroups(), byChord: createSlotGroups() };
}

/** Takes a task out of all groups. */
function removeRelative({ byParent, byGroup, byChord }: Relatives, records: Records, slot: number): void {
  const parent = records.parents[slot];
  if (parent != null) byParent.remove(parent, slot);
  const extra = records.extras.get(slot);
  if (extra?.groupId != null) byGroup.remove(extra.groupId, slot);
  if (extra?.chordId != null) byChord.remove(extra.chordId, slot);
}

/** Most members that are sorted for each read. */
const SMALL = 48;

/** One member, a few in any order, or many in order. */
type Members = number | number[] | OrderedSlots;

/** How members are sorted. */
interface MemberOrder {
  /** Order of slots with equal keys. */
  readonly compare: CompareSlots;
  /** The key under which a slot is sorted at present. */
  keyOf(slot: number): number;
}

/** @param key of the new member @returns the members with one more */
function addMember(members: Members | undefined, slot: number, key: number, order: MemberOrder): Members {
  if (members === undefined) return slot;
  if (typeof members === 'number') return [members, slot];
  if (!Array.isArray(members)) {
    members.insert(key, slot);
    return members;
  }
  if (members.length < SMALL) {
    members.push(slot);
    return members;
  }
  const sorted = sortMembers(members, order);
  sorted.insert(key, slot);
  return sorted;
}

/** @param key under which the slot is sorted @returns the other members; `undefined`: none */
function removeMember(members: Members | undefined, slot: number, key: number): Members | undefined {
  if (members === undefined || typeof members === 'number') return members === slot ? undefined : members;
  if (Array.isArray(members)) {
    const at = members.indexOf(slot);
    if (at >= 0) members.splice(at, 1);
    return members.length === 0 ? undefined : members;
  }
  members.remove(key, slot);
  return members.size === 0 ? undefined : members;
}

/** The members in order, valid until they change. */
function orderedMembers(members: Members, order: MemberOrder): OrderedSlots {
  if (typeof members === 'number') return sortMembers([members], order);
  return Array.isArray(members) ? sortMembers(members, order) : members;
}

/** How many members there are. */
function countMembers(members: Members | undefined): number {
  if (members === undefined) return 0;
  return typeof members === 'number' ? 1 : Array.isArray(members) ? members.length : members.size;
}

function sortMembers(members: readonly number[], { compare, keyOf }: MemberOrder): OrderedSlots {
  const sorted = createOrderedSlots(compare);
  for (const slot of members) sorted.insert(keyOf(slot), slot);
  return sorted;
}

/** One index. String 0 stands for none and is not indexed. */
type ColumnIndex = ReturnType<typeof createColumnIndex>;

/** @param order of the tasks of one string */
function createColumnIndex(strings: InternedStrings, order: MemberOrder) {
  const lists: (Members | undefined)[] = [];
  strings.onForgotten((string) => {
    lists[string] = undefined;
  });
  return {
    strings,
    /** Tasks with this string; `null` when there is none. Valid until the index changes. */
    list(string: number): OrderedSlots | null {
      const members = lists[string];
      return members === undefined ? null : orderedMembers(members, order);
    },
    size: (string: number): number => countMembers(lists[string]),
    enter(string: number, key: number, slot: number): void {
      if (string === 0) return;
      strings.retain(string);
      lists[string] = addMember(lists[string], slot, key, order);
    },
    leave(string: number, key: number, slot: number): void {
      if (string === 0) return;
      lists[string] = removeMember(lists[string], slot, key);
      strings.release(string);
    },
  };
}

/** Tasks by root, without the roots themselves. */
interface RootIndex {
  /** Estimate of the memory that the ids of roots take. */
  readonly bytes: number;
  /** @param key under which the slot is sorted */
  add(root: string, slot: number, key: number): void;
  remove(root: string, slot: number, key: number): void;
  /** Sorts a slot under another key. */
  move(root: string, slot: number, from: number, to: number): void;
  /** All tasks of a root but the root itself, sorted; `null` when there are none. Valid until the index changes. */
  ordered(root: string): OrderedSlots | null;
  size(root: string): number;
}

/** About what a root takes beside the characters of its id: its entry here, its header. */
const BYTES_PER_ROOT = 100;

/** @param order of the tasks of one root */
function createRootIndex(order: MemberOrder): RootIndex {
  const roots = new Map<string, Members>();
  const index: RootIndex & { bytes: number } = {
    bytes: 0,
    add(root, slot, key) {
      const members = roots.get(root);
      const more = addMember(members, slot, key, order);
      if (more !== members) roots.set(root, more);
      if (members === undefined) index.bytes += BYTES_PER_ROOT + root.length;
    },
    remove(root, slot, key) {
      const members = roots.get(root);
      if (members === undefined || removeMember(members, slot, key) !== undefined) return;
      roots.delete(root);
      index.bytes -= BYTES_PER_ROOT + root.length;
    },
    move(root, slot, from, to) {
      const members = roots.get(root);
      if (typeof members !== 'object' || Array.isArray(members)) return;
      members.remove(from, slot);
      members.insert(to, slot);
    },
    ordered(root) {
      const members = roots.get(root);
      return members === undefined ? null : orderedMembers(members, order);
    },
    size: (root) => countMembers(roots.get(root)),
  };
  return index;
}
