/**
 * Shares the event loop among all readers of rows. Rows that are already in memory arrive within one turn of the event
 * loop, so the readers end the turn themselves.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long all readers together may read in one turn, in milliseconds. The scheduler adds filtering and sorting. */
const TURN_MS = 4;
/** Maximum number of rows in a batch of a single reader, and minimum with many readers. */
const [MOST_AT_ONCE, FEWEST_AT_ONCE] = [256, 16];

let readers = 0;
/** When the first row of this turn was read. */
let began: number | null = null;

/** Reads the rows of one page. */
export interface RowReader {
  /** Called with the first row of each batch. */
  begin(): void;
  /** Maximum number of rows in the next batch. */
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
