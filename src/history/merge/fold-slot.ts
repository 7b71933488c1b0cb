import type { Records } from '../table/records.ts';
import { KIND } from '../table/timeline.ts';
import { createFold } from './fold.ts';
import type { Folded } from './folded.ts';

/** @returns a function that folds what was told of a task into one reused object */
export function createSlotFold(records: Records): (slot: number) => Folded {
  const fold = createFold(records.pool);
  return (slot) => {
    const folded = fold(records.heads[slot] as number);
    // That of an earlier run is not of this one.
    folded.runtime = folded.kind === KIND.SUCCEEDED ? (records.runtimes[slot] as number) : Number.NaN;
    return folded;
  };
}
