/**
 * Divides the time of the event loop. All long work of the process, whatever the number of routers and sources,
 * is written as steps and run here, for at most 10 ms in one turn of the event loop. Short work is done at once while
 * that time lasts. What has to wait gets a quarter of what the host used since the turn before, and at least 2 ms: at
 * least a fifth of the time of a busy host, all the rest of an idle one, and always in short turns.
 *
 * Work of one kind for one client is done piece after piece, so that the first ends early. Different kinds and
 * clients take turns, so that nobody holds up anybody else. While clients wait, every second slice belongs to
 * work that nobody waits for, such as taking in events. Work stops when its last client has left or its time is
 * over, and is refused at once when it would have to wait too long.
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
