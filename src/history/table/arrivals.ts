/**
 * Rows in the order of their last message, by this process's clock, oldest first. Retention goes by this order, so that
 * a sender's wrong clock does not shorten or extend how long a task is kept.
 */
const NONE = 0xffffffff;

/** Rows in the order of their last arrival. Times in milliseconds. */
export type Arrivals = ReturnType<typeof createArrivals>;

/** @returns an empty order: a linked list in typed arrays, 16 bytes a row */
export function createArrivals() {
  let capacity = 1024;
  let before = new Uint32Array(capacity).fill(NONE);
  let after = new Uint32Array(capacity).fill(NONE);
  /** NaN: not listed. */
  let times = new Float64Array(capacity).fill(Number.NaN);
  let first = NONE;
  let last = NONE;

  function grow(slot: number): void {
    const from = capacity;
    capacity = Math.max(slot + 1, Math.ceil(capacity * 1.5));
    before = widen(before, new Uint32Array(capacity)).fill(NONE, from);
    after = widen(after, new Uint32Array(capacity)).fill(NONE, from);
    times = widen(times, new Float64Array(capacity)).fill(Number.NaN, from);
  }

  const has = (slot: number): boolean => slot < capacity && !Number.isNaN(times[slot] as number);

  function remove(slot: number): void {
    if (!has(slot)) return;
    const previous = before[slot] as number;
    const next = after[slot] as number;
    if (previous === NONE) first = next;
    else after[previous] = next;
    if (next === NONE) last = previous;
    else before[next] = previous;
    times[slot] = Number.NaN;
  }

  function touch(slot: number, at: number): void {
    if (slot >= capacity) grow(slot);
    remove(slot);
    before[slot] = last;
    after[slot] = NONE;
    times[slot] = at;
    if (last === NONE) first = slot;
    else after[last] = slot;
    last = slot;
  }

  return {
    /** Puts a row at the end. */
    touch,
    remove,
    /** The row whose last message is oldest; −1 when there is none. */
    oldest: (): number => (first === NONE ? -1 : first),
    /** When that message arrived; `Infinity` when there is none. */
    oldestAt: (): number => (first === NONE ? Number.POSITIVE_INFINITY : (times[first] as number)),
    has,
    /** The row after this one; −1 when it is the last. */
    next(slot: number): number {
      const next = after[slot] as number;
      return next === NONE ? -1 : next;
    },
    /** When a listed row was put at the end. */
    at: (slot: number): number => times[slot] as number,
  };
}

function widen<T extends Float64Array | Uint32Array>(from: T, to: T): T {
  to.set(from as ArrayLike<number>);
  return to;
}
