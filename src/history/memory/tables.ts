import { createCauseFinder } from '../../causes/find-cause.ts';
import type { TaskCause } from '../../model.ts';
import { createRedactor, type Redactor } from '../../redact.ts';
import { createRows, type FlagContext, type Rows } from '../answers/rows.ts';
import { createTaskList } from '../answers/task-list.ts';
import { createEviction } from '../index/eviction.ts';
import { createOpenTasks, type OpenTasks } from '../index/open-tasks.ts';
import { createRoots, type Roots } from '../index/roots.ts';
import { createTaskIndex, type Relatives, type TaskIndex } from '../index/task-index.ts';
import { createRepeatedTasks } from '../merge/attempts.ts';
import { lifeOf } from '../merge/life.ts';
import { OPENING } from '../merge/precedence.ts';
import type { MutableRecord, TaskRecord } from '../merge/record.ts';
import type { Retention } from '../retention.ts';
import { readRecord, reportedRoot, writeRecord } from '../table/record-table.ts';
import { createRecords, extraOf, type Records, releaseHeld } from '../table/records.ts';
import { createTableRedaction } from '../table/redaction.ts';
import { createRelationStore, type RelationStore } from '../table/relation-store.ts';
import type { HistoryTap } from './tap.ts';

/** Maximum number of relations, per task that may be in memory. */
const RELATIONS_PER_TASK = 2;
/** Part of the bytes that relations may take. */
const RELATIONS_SHARE = 1 / 4;

/** All tables and indexes of tasks, assembled. */
export type Tables = ReturnType<typeof createTables>;

/**
 * @param clock milliseconds
 * @param flags what flags depend on besides the tasks
 * @param redactor removes secrets from texts before they are shown or searched; `null`: they stay as they are
 * @param beside bytes of other data that counts towards the bound of the tasks
 * @param tap is called for changed and dropped tasks; `null`: none
 */
export function createTables(
  retention: Retention,
  clock: () => number,
  flags: FlagContext,
  redactor: Redactor | null,
  beside: () => number,
  tap: Pick<HistoryTap, 'taskChanged' | 'taskDropping' | 'isUnwritten'> | null,
) {
  const records = createRecords(retention.maxValueBytes, retention.maxValueLength);
  // Placeholders could hide parts of secrets from a router's rules.
  const index = createTaskIndex(records, clock, createCauseFinder((redactor ?? createRedactor()).text));
  const redaction = createTableRedaction(records, redactor);
  const rows = createRows(records, redaction, flags);
  const open = createOpenTasks(records);
  const relations = createRelationStore(
    retention.maxTasks * RELATIONS_PER_TASK,
    retention.maxBytes * RELATIONS_SHARE,
  );
  /** Data derived from other tasks has changed. */
  const changed = (slot: number): void => {
    rows.forget(slot);
    tap?.taskChanged(records.ids[slot] as string);
  };
  const roots = createRoots(records, index, relations, changed);
  const related = { records, index, roots, changed };
  const packing = createPacking({ related, rows, open, tap, heardOf: (slot) => eviction.heardOf(slot) });
  const isKnown = (id: string): boolean => records.slots.has(id);
  const eviction = createEviction({
    records,
    index,
    retention,
    clock,
    beside: () => relations.bytes() + relativeBytes(index) + beside(),
    packHeld: packing.packHeld,
    isUnwritten: (slot) => tap?.isUnwritten(records.ids[slot] as string) === true,
    dropping(slot) {
      tap?.taskDropping(records.ids[slot] as string);
    },
    dropped(slot) {
      rows.forget(slot);
      open.remove(slot);
      const id = records.ids[slot] as string;
      if (relations.has(id)) relations.release(id, isKnown);
    },
  });
  const list = createTaskList({ records, index, rows, catchUp: packing.catchUp });
  return { records, redaction, rows, open, relations, eviction, index, roots, list, ...packing };
}

/** Estimate of the memory of the ids of relatives. */
function relativeBytes({ roots, byParent, byGroup, byChord }: TaskIndex): number {
  return roots.bytes + byParent.bytes + byGroup.bytes + byChord.bytes;
}

/** What changes with a record. */
interface PackingContext {
  readonly related: RelatedTables & { readonly index: TaskIndex };
  readonly rows: Rows;
  readonly open: OpenTasks;
  /** Called with changed tasks; `null`: none. */
  readonly tap: Pick<HistoryTap, 'taskChanged'> | null;
  /** Called with each task that has changed. */
  heardOf(slot: number): void;
}

/** @param context is changed by what is packed */
function createPacking({ related, rows, open, tap, heardOf }: PackingContext) {
  const { records, index } = related;
  const repeated = createRepeatedTasks();

  function write(slot: number, record: TaskRecord, cause?: TaskCause | null): void {
    writeRecord(records, slot, record);
    relate(related, slot, record);
    index.update(slot, record, cause);
    repeated.note(record);
    rows.forget(slot);
  }

  function pack(slot: number, record: MutableRecord): void {
    write(slot, record);
    open.settle(slot);
    heardOf(slot);
    tap?.taskChanged(records.ids[slot] as string);
  }

  return {
    repeated,
    /**
     * Writes a record into the table, and updates its indexes.
     *
     * @param cause of its failure, as found earlier. Default: derived from its texts
     */
    write,
    /** Packs a task that has changed since. @returns whether it has */
    packHeld(slot: number): boolean {
      const record = records.held.records.get(slot);
      if (record === undefined) return false;
      pack(slot, record);
      return records.held.records.delete(slot);
    },
    /** Packs all records that have changed. */
    catchUp: (): void => releaseHeld(records.held, 0, pack),
    /** Packs the half that changed first. Most of the others will soon change again. */
    packOldest: (): void => releaseHeld(records.held, records.held.records.size >> 1, pack),
  };
}

/** Rank of a group or chord that a relation names. A message or header of the task itself has a higher one. */
const BY_RELATION = 1;

/** @returns whether the messages of the task itself report this relation */
export function isReported(record: TaskRecord, relation: string, other: string): boolean {
  if (relation === 'child') return record.parentId === other;
  if (relation === 'group') return record.ranks.group > BY_RELATION && record.groupId === other;
  return relation === 'chord' && record.ranks.chord > BY_RELATION && record.chordId === other;
}

/** @returns the group and the chord's body that relations name for a task */
export function canvasOf(
  id: string,
  relations: RelationStore,
): { groupId: string | null; chordId: string | null } {
  let groupId: string | null = null;
  let chordId: string | null = null;
  // The one of several that sorts first, so that the order of arrival does not matter.
  for (const { parent, relation } of relations.to(id)) {
    if (relation === 'group' && (groupId === null || parent < groupId)) groupId = parent;
  }
  for (const { child, relation } of relations.from(id)) {
    if (relation === 'chord' && (chordId === null || child < chordId)) chordId = child;
  }
  return { groupId, chordId };
}

/** @returns the string that the table keeps, so that each id is stored once */
export function shared({ slots, ids }: Records, id: string): string {
  const slot = slots.get(id);
  return slot === undefined ? id : (ids[slot] as string);
}

/** Where relatives are kept. */
interface RelatedTables {
  readonly records: Records;
  readonly index: Relatives;
  readonly roots: Roots;
  /** Called with another task whose parent has changed. */
  readonly changed: (slot: number) => void;
}

/** Stores and indexes the relatives of a task that have changed. */
function relate(tables: RelatedTables, slot: number, record: TaskRecord): void {
  const { records, index, roots } = tables;
  const { parentId, groupId, chordId, rootId } = record;
  const extra = groupId === null && chordId === null ? records.extras.get(slot) : extraOf(records, slot);
  if (extra !== undefined && groupId !== extra.groupId) {
    move(index.byGroup, slot, extra.groupId, groupId);
    extra.groupId = groupId;
  }
  if (extra !== undefined && chordId !== extra.chordId) {
    move(index.byChord, slot, extra.chordId, chordId);
    extra.chordId = chordId;
  }
  const oldParent = records.parents[slot] ?? null;
  if (parentId !== oldParent) {
    const parent = parentId === null ? null : shared(records, parentId);
    records.parents[slot] = parent;
    move(index.byParent, slot, oldParent, parent);
    if (parent !== null && record.ranks.lineage < OPENING) breakRing(tables, slot, record);
  }
  const oldRoot = reportedRoot(records, slot);
  // Most tasks are their own root, which needs no look-up.
  if (rootId === record.id) roots.setReported(slot, record.id);
  else if (rootId !== oldRoot) roots.setReported(slot, rootId === null ? null : shared(records, rootId));
  roots.derive(slot);
}

function move(groups: Relatives['byParent'], slot: number, from: string | null, to: string | null): void {
  if (from !== null) groups.remove(from, slot);
  if (to !== null) groups.add(to, slot);
}

/** Longest ring of parents that is found. */
const MAX_RING = 64;

/**
 * Drops the parent of a replaced task if it is one of its own descendants. A task that replaces itself by a group or
 * chain keeps its id as the last step, whose result names the step before as its parent, and that step descends from
 * the task. Results alone do not name its real parent.
 */
function breakRing(tables: RelatedTables, slot: number, record: TaskRecord): void {
  const { records, index, roots, changed } = tables;
  const ring = ringOf(records, slot);
  let last = -1;
  let lastTime = Number.NEGATIVE_INFINITY;
  // The last step ended last.
  for (const member of ring) {
    const { entries, ranks, runtime } = member === slot ? record : readRecord(records, member);
    const time = ranks.lineage < OPENING ? lifeOf(entries, runtime).timestamp : null;
    if (time === null || time < lastTime) continue;
    // Several that ended last cannot be told apart.
    last = time === lastTime ? -1 : member;
    lastTime = time;
  }
  if (last === -1) return;
  move(index.byParent, last, records.parents[last] as string, null);
  records.parents[last] = null;
  if (last === slot) return;
  changed(last);
  roots.derive(last);
}

/** The tasks from this one through its parents back to itself; none if the parents lead elsewhere. */
function ringOf({ slots, parents }: Records, slot: number): number[] {
  const ring: number[] = [];
  for (let at: number | undefined = slot; at !== undefined && ring.length < MAX_RING; ) {
    ring.push(at);
    const parent: string | null = parents[at] ?? null;
    at = parent === null ? undefined : slots.get(parent);
    if (at === slot) return ring;
  }
  return [];
}
