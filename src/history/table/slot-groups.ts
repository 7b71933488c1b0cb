/** Slots by a text they share (parent, group, chord): most groups have one member, a few have many. */
export interface SlotGroups {
  add(key: string, slot: number): void;
  remove(key: string, slot: number): void;
  size(key: string): number;
  /** In the order of arrival. */
  list(key: string): readonly number[];
}

/** @returns an empty table */
export function createSlotGroups(): SlotGroups {
  const groups = new Map<string, number | Set<number>>();
  return {
    add(key, slot) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, slot);
      else if (typeof group === 'object') group.add(slot);
      else if (group !== slot) groups.set(key, new Set([group, slot]));
    },
    remove(key, slot) {
      const group = groups.get(key);
      if (group === slot) groups.delete(key);
      else if (typeof group === 'object') {
        group.delete(slot);
        if (group.size === 0) groups.delete(key);
      }
    },
    size(key) {
      const group = groups.get(key);
      return group === undefined ? 0 : typeof group === 'object' ? group.size : 1;
    },
    list(key) {
      const group = groups.get(key);
      return group === undefined ? [] : typeof group === 'object' ? [...group] : [group];
    },
  };
}
