/** Work in slices between which the host's own work is done. */

/** Longest time that a slice takes, in milliseconds. */
const SLICE = 5;

/** @returns to be awaited between items: gives way once the slice has lasted long enough */
export function createSlices(): () => Promise<void> | undefined {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < SLICE) return undefined;
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      begun = performance.now();
    });
  };
}

/** Resolves after so many milliseconds or when aborted; keeps no process alive. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(over, ms).unref();
    signal.addEventListener('abort', over, { once: true });
    function over(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      resolve();
    }
  });
}
