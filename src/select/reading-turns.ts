/**
 * Shares the event loop among all who read rows. Rows that are there already arrive without a turn of the event loop
 * between them, so reading them ends the turn by itself.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest reading of all in one turn, in milliseconds. Filtering and sorting have the time of the scheduler beside it. */
const TURN_MS = 4;
/** Rows that one reader takes together if it is alone, and at least. */
const [MOST_AT_ONCE, FEWEST_AT_ONCE] = [256, 16];

let readers = 0;
/** When the first row of this turn was read. */
let began: number | null = null;

/** One who reads rows. */
export interface RowReader {
  /** Called with the first row of each batch. */
  begin(): void;
  /** Most rows of the next batch. */
  most(): number;
  /** Called after each batch. @returns a promise if the time of this turn is over */
  rest(): Promise<void> | undefined;
  close(): void;
}

export function createRowReader(): RowReader {
  readers += 1;
  return {
    begin() {
      if (began !== null) return;
      began = performance.now();
      setImmediate(forget);
    },
    most: () => Math.max(FEWEST_AT_ONCE, Math.floor(MOST_AT_ONCE / readers)),
    rest: () => (began !== null && performance.now() - began > TURN_MS ? nextTurn() : undefined),
    close() {
      readers -= 1;
    },
  };
}

function forget(): void {
  began = null;
}
