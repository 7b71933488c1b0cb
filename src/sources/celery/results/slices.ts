/** Splits long work into slices, between which the host can run. */

/** Longest slice, in milliseconds. */
const SLICE = 5;

/** To be awaited between two items of long work. */
export type GiveWay = () => Promise<void> | undefined;

/** @returns a function that yields to the event loop at the end of each slice */
export function createSlices(): GiveWay {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < SLICE) return undefined;
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      begun = performance.now();
    });
  };
}
