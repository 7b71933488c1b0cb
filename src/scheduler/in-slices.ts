import { setImmediate as nextTurn } from 'node:timers/promises';
import { scheduler } from '../scheduler.ts';
import type { Steps } from './work.ts';

/** Longest work in one turn of the event loop, in milliseconds. */
const SLICE_MS = 1;

/**
 * Runs work that nobody waits for, a millisecond in each turn of the event loop: `scheduler.run` would do at once
 * whatever fits into a turn.
 *
 * @param kind a short constant, as for `scheduler.run`
 * @returns rejects with what the steps throw
 */
export async function runInSlices<Result>(kind: string, steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = await scheduler.run(kind, slice(steps));
    if (step.done === true) return step.value;
    await nextTurn();
  }
}

/** @returns the first step that is the last one, or that ends after the time of a slice */
function* slice<Result>(steps: Steps<Result>): Steps<IteratorResult<void, Result>> {
  const end = performance.now() + SLICE_MS;
  let step = steps.next();
  while (step.done !== true && performance.now() < end) {
    yield;
    step = steps.next();
  }
  return step;
}
