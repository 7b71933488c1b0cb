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
import { createScheduler, type Scheduler } from './scheduler/create-scheduler.ts';

export type { Scheduler } from './scheduler/create-scheduler.ts';
export { sortInSteps } from './scheduler/sort-in-steps.ts';
export type { Steps, Waiter } from './scheduler/work.ts';

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
