/** Where the relatives of a task are found. */

import type { Records } from '../table/records.ts';
import { createSlotGroups, type SlotGroups } from '../table/slot-groups.ts';

/** Tasks by the ids of their relatives. */
export interface Relatives {
  readonly byParent: SlotGroups;
  readonly byGroup: SlotGroups;
  /** Header tasks by the id of their chord's body. */
  readonly byChord: SlotGroups;
}

/** @returns empty groups */
export function createRelatives(): Relatives {
  return { byParent: createSlotGroups(), byGroup: createSlotGroups(), byChord: createSlotGroups() };
}

/** Takes a task out of all groups. */
export function removeRelative(
  { byParent, byGroup, byChord }: Relatives,
  records: Records,
  slot: number,
): void {
  const parent = records.parents[slot];
  if (parent != null) byParent.remove(parent, slot);
  const extra = records.extras.get(slot);
  if (extra?.groupId != null) byGroup.remove(extra.groupId, slot);
  if (extra?.chordId != null) byChord.remove(extra.chordId, slot);
}
