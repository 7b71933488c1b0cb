/** Keeps the relatives of a task in the table and its indexes. */
import type { Roots } from '../index/roots.ts';
import type { Relatives } from '../index/task-index.ts';
import { lifeOf } from '../merge/life.ts';
import { OPENING } from '../merge/precedence.ts';
import type { TaskRecord } from '../merge/record.ts';
import { readRecord, reportedRoot } from '../table/record-table.ts';
import { extraOf, type Records } from '../table/records.ts';
import type { RelationStore } from '../table/relation-store.ts';

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
export interface RelatedTables {
  readonly records: Records;
  readonly index: Relatives;
  readonly roots: Roots;
  /** Called with another task whose parent has changed. */
  readonly changed: (slot: number) => void;
}

/** Stores and indexes the relatives of a task that have changed. */
export function relate(tables: RelatedTables, slot: number, record: TaskRecord): void {
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
