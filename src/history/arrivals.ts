/**
 * When each task was last heard of, by our own clock, oldest first: what is kept for seven days is kept
 * so from its arrival, whatever the clock of its sender says.
 */
const NONE = 0xffffffff;

/** Tasks in the order in which they were last heard of. */
export interface Arrivals {
  /** Puts a slot at the end. @param at milliseconds */
  touch(slot: number, at: number): void;
  remove(slot: number): void;
  /** The slot not heard of for longest; −1 when there is none. */
  oldest(): number;
  /** When that was, milliseconds; Infinity when there is none. */
  oldestAt(): number;
}

/** @returns an empty order: a linked list in typed arrays, 12 bytes a task */
export function createArrivals(): Arrivals {
  let capacity = 1024;
  let before = new Uint32Array(capacity).fill(NONE);
  let after = new Uint32Array(capacity).fill(NONE);
  /** Whole seconds, plus one; 0: not listed. */
  let seconds = new Uint32Array(capacity);
  let first = NONE;
  let last = NONE;

  function grow(slot: number): void {
    const from = capacity;
    capacity = Math.max(slot + 1, Math.ceil(capacity * 1.5));
    const wider = (column: Uint32Array) => {
      const to = new Uint32Array(capacity);
      to.set(column);
      return to;
    };
    before = wider(before).fill(NONE, from);
    after = wider(after).fill(NONE, from);
    seconds = wider(seconds);
  }

  function unlink(slot: number): void {
    if (slot >= capacity || seconds[slot] === 0) return;
    const previous = before[slot] as number;
    const next = after[slot] as number;
    if (previous === NONE) first = next;
    else after[previous] = next;
    if (next === NONE) last = previous;
    else before[next] = previous;
    seconds[slot] = 0;
  }

  return {
    touch(slot, at) {
      if (slot >= capacity) grow(slot);
      unlink(slot);
      before[slot] = last;
      after[slot] = NONE;
      seconds[slot] = Math.floor(at / 1_000) + 1;
      if (last === NONE) first = slot;
      else after[last] = slot;
      last = slot;
    },
    remove: unlink,
    oldest: () => (first === NONE ? -1 : first),
    oldestAt: () => (first === NONE ? Number.POSITIVE_INFINITY : ((seconds[first] as number) - 1) * 1_000),
  };
}
