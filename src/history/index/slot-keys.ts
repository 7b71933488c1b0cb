/** A number for each of some slots: 8 bytes a slot. */
export interface SlotKeys {
  has(slot: number): boolean;
  /** Of a slot that has one. */
  get(slot: number): number;
  set(slot: number, key: number): void;
  delete(slot: number): void;
}

/** @returns no keys yet */
export function createSlotKeys(): SlotKeys {
  /** NaN: the slot has none. */
  let keys = new Float64Array(1024).fill(Number.NaN);
  return {
    has: (slot) => slot < keys.length && !Number.isNaN(keys[slot] as number),
    get: (slot) => keys[slot] as number,
    set(slot, key) {
      if (slot >= keys.length) {
        const wider = new Float64Array(Math.ceil(slot * 1.5) + 1).fill(Number.NaN);
        wider.set(keys);
        keys = wider;
      }
      keys[slot] = key;
    },
    delete(slot) {
      if (slot < keys.length) keys[slot] = Number.NaN;
    },
  };
}
