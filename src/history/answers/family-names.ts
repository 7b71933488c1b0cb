import type { FamilyNames } from '../../select/callers.ts';
import type { Relatives } from '../index/relatives.ts';
import type { Records } from '../table/records.ts';
import { namesOf } from './read-task.ts';

/** The names of the tasks in memory and of those that they sent. The indexes must have caught up. */
export function familyNames(records: Records, { byParent }: Pick<Relatives, 'byParent'>): FamilyNames {
  return {
    nameOf(id) {
      const slot = records.slots.get(id);
      return slot === undefined ? null : namesOf(records, slot).name;
    },
    *namesSentBy(id) {
      for (const slot of byParent.list(id)) {
        // It may have been dropped since the list was made.
        if (records.parents[slot] === id) yield namesOf(records, slot).name;
      }
    },
  };
}
