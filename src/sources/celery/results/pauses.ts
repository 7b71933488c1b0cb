/** Long work in slices, between which the host does its own. */

/** Longest time that a slice takes, in milliseconds. */
const SLICE = 5;

/** To be awaited between two items of long work. */
export type GiveWay = () => Promise<void> | undefined;

/** @returns a function that lets the event loop turn once the slice has lasted long enough */
export function createSlices(): GiveWay {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < SLICE) return undefined;
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      begun = performance.now();
    });
  };
}

/** Resolves after so many milliseconds, or when aborted. Keeps no process alive. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(end, ms).unref();
    signal.addEventListener('abort', end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
  });
}
