/** The causes of failures, each stored once under the number of its id. */
import { createFirstSeen, type FirstSeen } from '../../causes/first-seen.ts';
import type { TaskCause } from '../../model.ts';
import { createInternedStrings, type InternedStrings } from './interned-strings.ts';

/** The memory of the texts of a cause, as a multiple of that of its id. */
const TEXTS_SHARE = 2;

/** Causes by number; 0 stands for none. */
export interface CauseTable {
  /** The ids. */
  readonly strings: InternedStrings;
  /** When causes were first seen, including those whose tasks have been dropped. */
  readonly seen: FirstSeen;
  /** Estimate of the memory. */
  bytes(): number;
  /** Notes what the number of an id stands for. */
  describe(number: number, cause: TaskCause): void;
  /** @returns `null` for 0 */
  read(number: number): TaskCause | null;
}

/** @returns an empty table */
export function createCauseTable(): CauseTable {
  const strings = createInternedStrings();
  const seen = createFirstSeen();
  // A number that is reused is described again.
  const causes: (TaskCause | null)[] = [null];
  return {
    strings,
    seen,
    bytes: () => (1 + TEXTS_SHARE) * strings.bytes + seen.bytes(),
    describe(number, cause) {
      causes[number] = cause;
    },
    read: (number) => causes[number] ?? null,
  };
}
