/**
 * Divides the time of the event loop. All long work of the process, whatever the number of routers and sources,
 * is written as steps and run here, for at most 10 ms in one turn of the event loop. Short work is done immediately
 * while that time lasts. Waiting work gets a quarter of the time that the host used since the previous turn, and at
 * least 2 ms. It thus gets at least a fifth of a busy host's time, all the idle time, and turns stay short.
 *
 * Work of one kind for one client is done one piece after another, so that the first piece ends early. Different kinds
 * and clients take turns, so that none blocks another. While clients wait, every second slice goes to work without a
 * waiting client, such as processing events. Work stops when its last client has disconnected or its time is up, and
 * is refused immediately if it would have to wait too long.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { mergeSorted } from './merge-sorted.ts';
import { createScheduler, type Scheduler, type Steps } from './scheduler/create-scheduler.ts';

export type { Scheduler, Steps, Waiter } from './scheduler/create-scheduler.ts';

const KEY = Symbol.for('express-task-monitor.scheduler.1');

/**
 * The scheduler of the process. ESM and CommonJS entries and several installed copies of the library share it:
 * whichever is loaded first creates it. A version with another interface has another key.
 */
export const scheduler: Scheduler = sharedScheduler(globalThis as { [KEY]?: Scheduler });

function sharedScheduler(holder: { [KEY]?: Scheduler }): Scheduler {
  holder[KEY] ??= createScheduler({
    // Taken when the module is loaded, so that fake timers of a test do not stop the scheduler.
    now: performance.now.bind(performance),
    defer: setImmediate,
  });
  return holder[KEY];
}

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

/** Items sorted or merged between two pauses. */
const AT_ONCE = 512;

/**
 * Sorts in steps. Equal items keep their order.
 *
 * @param most how many of the first items are returned. Default: all
 */
export function* sortInSteps<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  most: number = items.length,
): Steps<Item[]> {
  const parts: Item[][] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    parts.push(items.slice(at, at + AT_ONCE).sort(compare));
    yield;
  }
  const sorted: Item[] = [];
  for (const item of mergeSorted(parts, compare)) {
    if (sorted.length >= most) break;
    if (sorted.push(item) % AT_ONCE === 0) yield;
  }
  return sorted;
}

/** The time of the present turn of the event loop; `null`: not read in it yet. */
let turnTime: number | null = null;

/**
 * The time, read once in each turn of the event loop: messages arrive in bursts, and reading the clock takes a tenth of
 * the time of recording a message.
 *
 * @returns milliseconds since 1970; always the same within one turn
 */
export function turnNow(): number {
  if (turnTime === null) {
    turnTime = Date.now();
    queueMicrotask(forget);
  }
  return turnTime;
}

function forget(): void {
  turnTime = null;
}
