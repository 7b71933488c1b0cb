/** The load of workers: which of them are stuck, and which tasks run longer than usual. */
import type { RunningTaskBody, UnassignedTasksBody, WorkerBody } from '../../wire.ts';

/** A running task and where it runs. */
export interface Running {
  readonly task: RunningTaskBody;
  readonly source: string;
  /** `null`: unknown. */
  readonly worker: string | null;
  /** When the answer that lists it was read: a row that is held may be of an earlier one. */
  readonly at: number;
}

/** Identifies a worker: two sources may have workers with the same name. */
export const keyOf = ({ source, hostname }: Pick<WorkerBody, 'source' | 'hostname'>): string =>
  `${source} ${hostname}`;

/** How old an answer may be, in milliseconds. */
const ANSWER_AGE = 1_000;

/** Milliseconds that a task is known to have run. Clocks differ slightly. @param at when the answer was read */
export const elapsedOf = ({ started }: RunningTaskBody, at: number): number =>
  Math.max(0, at - ANSWER_AGE - Date.parse(started));

/** Number of listed tasks that should have ended. */
export const stuckTasks = ({ running }: WorkerBody): number =>
  (running ?? []).filter(({ stuck }) => stuck === true).length;

/** Number of running tasks of a worker: its last heartbeat may be older than the list of them. `null`: unknown. */
export const busyOf = ({ running_total: total, active }: WorkerBody): number | null =>
  total == null ? active : Math.max(active ?? 0, total);

/** Number of tasks that it can run at the same time; `null`: unknown. */
const slotsOf = ({ concurrency, pool_size: pool }: WorkerBody): number | null => concurrency ?? pool;

/** `4/4`; without slots, the number of running tasks. */
export function loadText(worker: WorkerBody): string {
  const [busy, slots] = [busyOf(worker), slotsOf(worker)];
  if (slots === null) return busy === null ? '–' : `${busy} running`;
  return `${busy ?? '–'}/${slots}`;
}

const STATUSES = ['offline', 'stale', 'online'];

/** Workers that need attention first: stuck, then with tasks that should have ended, then silent, then the fullest. */
export function byTrouble(a: WorkerBody, b: WorkerBody): number {
  return (
    Number(b.stuck === true) - Number(a.stuck === true) ||
    stuckTasks(b) - stuckTasks(a) ||
    STATUSES.indexOf(a.status) - STATUSES.indexOf(b.status) ||
    shareOf(b) - shareOf(a) ||
    a.hostname.localeCompare(b.hostname)
  );
}

/** Its load, from 0 to 1; 0 if unknown. */
export function shareOf(worker: WorkerBody): number {
  const slots = slotsOf(worker);
  return slots === null || slots === 0 ? 0 : (busyOf(worker) ?? 0) / slots;
}

/** All running tasks: first those that should have ended, then those that most exceed their usual run time. */
export function allRunning(
  workers: readonly WorkerBody[],
  unassigned: readonly UnassignedTasksBody[],
  at: number,
): readonly Running[] {
  const listed = [
    ...workers.flatMap(({ running, source, hostname }) =>
      (running ?? []).map((task) => ({ task, source, worker: hostname, at })),
    ),
    ...unassigned.flatMap(({ running, source }) =>
      running.map((task) => ({ task, source, worker: null, at })),
    ),
  ];
  return listed.sort(
    (a, b) =>
      Number(b.task.stuck === true) - Number(a.task.stuck === true) ||
      excessOf(b.task, at) - excessOf(a.task, at) ||
      a.task.started.localeCompare(b.task.started),
  );
}

/** The run time so far as a multiple of the usual one; below 0 if that is unknown. */
function excessOf(task: RunningTaskBody, at: number): number {
  return task.runtime_p95 === null ? -1 : elapsedOf(task, at) / Math.max(1, task.runtime_p95 * 1_000);
}
