/** Work too long for one turn of the event loop is done in slices, with turns of the host in between. */

/** Longest stretch of work before the host gets a turn, in milliseconds. */
const SLICE_MS = 8;

/** Measures the slices of one piece of work. */
export interface Slices {
  /** Whether the present slice has taken its time. */
  isOver(): boolean;
  /** Resolves in a later turn of the event loop, where the next slice begins. */
  next(): Promise<void>;
}

/** @param sliceMs length of a slice, in milliseconds. Default 8. */
export function createSlices(sliceMs: number = SLICE_MS): Slices {
  let start = performance.now();
  return {
    isOver: () => performance.now() - start > sliceMs,
    async next() {
      await new Promise((resolve) => setImmediate(resolve));
      start = performance.now();
    },
  };
}
