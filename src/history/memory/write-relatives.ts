/** Keeps the relatives of a task in the table and its indexes. */
import type { Relatives } from '../index/relatives.ts';
import type { TaskRecord } from '../merge/record.ts';
import { extraOf, type Records } from '../table/records.ts';
import type { RelationStore } from '../table/relation-store.ts';
import type { Tables } from './tables.ts';

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
  // Of several the one that sorts first, so that the order in which they arrive does not matter.
  for (const { parent, relation } of relations.to(id)) {
    if (relation === 'group' && (groupId === null || parent < groupId)) groupId = parent;
  }
  for (const { child, relation } of relations.from(id)) {
    if (relation === 'chord' && (chordId === null || child < chordId)) chordId = child;
  }
  return { groupId, chordId };
}

/** @returns the id as the table holds it, so that the ids of relatives are stored once */
export function shared({ slots, ids }: Records, id: string): string {
  const slot = slots.get(id);
  return slot === undefined ? id : (ids[slot] as string);
}

/** Stores and indexes the relatives of a task that have changed. */
export function relate(
  { records, index, roots }: Tables,
  slot: number,
  before: TaskRecord,
  after: TaskRecord,
): void {
  const { parentId, groupId, chordId, rootId } = after;
  if (parentId !== before.parentId) {
    const parent = parentId === null ? null : shared(records, parentId);
    records.parents[slot] = parent;
    move(index.byParent, slot, before.parentId, parent);
  }
  if (groupId !== before.groupId) {
    extraOf(records, slot).groupId = groupId;
    move(index.byGroup, slot, before.groupId, groupId);
  }
  if (chordId !== before.chordId) {
    extraOf(records, slot).chordId = chordId;
    move(index.byChord, slot, before.chordId, chordId);
  }
  const isRootChanged = rootId !== before.rootId;
  if (isRootChanged) roots.setReported(slot, rootId === null ? null : shared(records, rootId));
  if (isRootChanged || parentId !== before.parentId || after.hasNoParent !== before.hasNoParent)
    roots.derive(slot);
}

function move(groups: Relatives['byParent'], slot: number, from: string | null, to: string | null): void {
  if (from !== null) groups.remove(from, slot);
  if (to !== null) groups.add(to, slot);
}
