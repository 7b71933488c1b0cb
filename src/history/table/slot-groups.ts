/** Groups slots by a text that they share: the id of a parent, group or chord. Most groups have one member. */
export interface SlotGroups {
  /** Estimate of the memory that the keys take. */
  readonly bytes: number;
  add(key: string, slot: number): void;
  remove(key: string, slot: number): void;
  size(key: string): number;
  /** The slots of a group, in the order in which they were added. */
  list(key: string): readonly number[];
}

/** Approximate memory of a key besides its characters: its entry here, its header. */
const BYTES_PER_KEY = 200;

/** @returns an empty table */
export function createSlotGroups(): SlotGroups {
  const groups = new Map<string, number | Set<number>>();

  function forget(key: string): void {
    groups.delete(key);
    slotGroups.bytes -= BYTES_PER_KEY + key.length;
  }

  const slotGroups: SlotGroups & { bytes: number } = {
    bytes: 0,
    add(key, slot) {
      const group = groups.get(key);
      if (group === undefined) {
        groups.set(key, slot);
        slotGroups.bytes += BYTES_PER_KEY + key.length;
      } else if (typeof group === 'object') group.add(slot);
      else if (group !== slot) groups.set(key, new Set([group, slot]));
    },
    remove(key, slot) {
      const group = groups.get(key);
      if (group === slot) forget(key);
      else if (typeof group === 'object') {
        group.delete(slot);
        if (group.size === 0) forget(key);
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
  return slotGroups;
}
