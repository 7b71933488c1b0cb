/** What workers hold, as the views show it: which of them are stuck, and what runs longer than usual. */
import type { RunningTaskBody, UnassignedTasksBody, WorkerBody } from '../../client.ts';

/** A running task and where it runs. */
export interface Running {
  readonly task: RunningTaskBody;
  readonly source: string;
  /** `null`: not known. */
  readonly worker: string | null;
}

/** Identifies a worker: two sources may have one of the same name. */
export const keyOf = ({ source, hostname }: Pick<WorkerBody, 'source' | 'hostname'>): string =>
  `${source} ${hostname}`;

/** Milliseconds since a task started. Clocks differ slightly. */
export const elapsedOf = ({ started }: RunningTaskBody, now: number): number =>
  Math.max(0, now - Date.parse(started));

/** How many of the listed tasks should have ended. */
export const stuckTasks = ({ running }: WorkerBody): number =>
  (running ?? []).filter(({ stuck }) => stuck === true).length;

/** How many tasks a worker runs: its last heartbeat may be older than the list of them. `null`: unknown. */
export const busyOf = ({ running_total: total, active }: WorkerBody): number | null =>
  total == null ? active : Math.max(active ?? 0, total);

/** How many it can run at once; `null`: unknown. */
const slotsOf = ({ concurrency, pool_size: pool }: WorkerBody): number | null => concurrency ?? pool;

/** `4/4`; without slots, how many run. */
export function loadText(worker: WorkerBody): string {
  const [busy, slots] = [busyOf(worker), slotsOf(worker)];
  if (slots === null) return busy === null ? '–' : `${busy} running`;
  return `${busy ?? '–'}/${slots}`;
}

const STATUSES = ['offline', 'stale', 'online'];

/** Those that need attention first: stuck, then with tasks that should have ended, then silent, then the fullest. */
export function byTrouble(a: WorkerBody, b: WorkerBody): number {
  return (
    Number(b.stuck === true) - Number(a.stuck === true) ||
    stuckTasks(b) - stuckTasks(a) ||
    STATUSES.indexOf(a.status) - STATUSES.indexOf(b.status) ||
    shareOf(b) - shareOf(a) ||
    a.hostname.localeCompare(b.hostname)
  );
}

/** How full it is, from 0 to 1; 0 if unknown. */
export function shareOf(worker: WorkerBody): number {
  const slots = slotsOf(worker);
  return slots === null || slots === 0 ? 0 : (busyOf(worker) ?? 0) / slots;
}

/** All running tasks: those that should have ended first, then the longest against what is usual for their name. */
export function allRunning(
  workers: readonly WorkerBody[],
  unassigned: readonly UnassignedTasksBody[],
  now: number,
): readonly Running[] {
  const listed = [
    ...workers.flatMap(({ running, source, hostname }) =>
      (running ?? []).map((task) => ({ task, source, worker: hostname })),
    ),
    ...unassigned.flatMap(({ running, source }) => running.map((task) => ({ task, source, worker: null }))),
  ];
  return listed.sort(
    (a, b) =>
      Number(b.task.stuck === true) - Number(a.task.stuck === true) ||
      excessOf(b.task, now) - excessOf(a.task, now) ||
      a.task.started.localeCompare(b.task.started),
  );
}

/** For how many times the usual a task has run; below 0 where the usual is unknown. */
function excessOf(task: RunningTaskBody, now: number): number {
  return task.runtime_p95 === null ? -1 : elapsedOf(task, now) / Math.max(1, task.runtime_p95 * 1_000);
}
