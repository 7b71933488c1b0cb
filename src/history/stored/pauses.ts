/** Pauses of work that goes in steps. */

/** Longest work between two pauses, in milliseconds. */
const STEP_MS = 1;

/** Says when work should pause. */
interface Pauses {
  isDue(): boolean;
  begin(): void;
}

/** @returns pauses after each millisecond of work */
export function createPauses(): Pauses {
  let until = performance.now() + STEP_MS;
  return {
    isDue: () => performance.now() >= until,
    begin: () => (until = performance.now() + STEP_MS),
  };
}
