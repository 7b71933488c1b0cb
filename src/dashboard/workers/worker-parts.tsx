/** The load of workers: which of them are stuck, and which tasks run longer than usual. */
import type { RunningTaskBody, UnassignedTasksBody, WorkerBody } from '../../wire.ts';
import { Status } from '../parts/facts.tsx';
import { counted, duration } from '../text/format.ts';

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
const elapsedOf = ({ started }: RunningTaskBody, at: number): number =>
  Math.max(0, at - ANSWER_AGE - Date.parse(started));

/** Number of listed tasks that should have ended. */
const stuckTasks = ({ running }: WorkerBody): number =>
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

/** Marks tasks that should have ended. */
export function StuckMark() {
  return (
    <span class="stuck-mark tone-failure" role="img" aria-label="Stuck">
      ✕
    </span>
  );
}

/** The state of a worker, and whether its tasks should have ended. */
export function WorkerState({ worker }: { readonly worker: WorkerBody }) {
  const stuck = stuckTasks(worker);
  return (
    <>
      {worker.stuck === true ? (
        <span class="badge tone-failure" title="All its slots are held by tasks that should have ended.">
          stuck
        </span>
      ) : (
        <Status status={worker.status} />
      )}
      {worker.stuck !== true && stuck > 0 && (
        <span class="badge tone-failure outlined" title="They run far longer than usual.">
          {`${counted(stuck, 'task')} stuck`}
        </span>
      )}
    </>
  );
}

/** The length of a bar, as a multiple of the usual run time, unless the task has run for longer. */
const SCALE = 1.5;

/** Above ten minutes, seconds do not matter. */
const unitOf = (ms: number): number => (ms < 10_000 ? 1 : ms < 600_000 ? 1_000 : 60_000);
const whole = (ms: number): string => duration(Math.floor(ms / unitOf(ms)) * unitOf(ms));

/**
 * How long a task is known to have run, as a bar with a tick at the time that 95 % of the runs of its name do not
 * exceed. Since the answer it may have ended. @param at when the answer was read, in milliseconds since 1970
 */
export function Elapsed({ task, at }: { readonly task: RunningTaskBody; readonly at: number }) {
  const elapsed = elapsedOf(task, at);
  const usual = task.runtime_p95 === null ? null : task.runtime_p95 * 1_000;
  const tone = task.stuck === true ? 'failure' : usual !== null && elapsed > usual ? 'retry' : 'running';
  return (
    <span class="flow elapsed">
      {usual !== null && <Bar elapsed={elapsed} usual={usual} tone={tone} />}
      <b class={`num tone-${tone}`}>{elapsed < 1_000 ? '< 1 s' : whole(elapsed)}</b>{' '}
      {usual === null ? (
        <span class="dim">usual time unknown</span>
      ) : (
        <span class="dim" title="95 of 100 runs of the last 24 hours took at most about this long">
          {`p95 ≈ ${whole(usual)} (24 h)`}
        </span>
      )}
    </span>
  );
}

function Bar(props: { readonly elapsed: number; readonly usual: number; readonly tone: string }) {
  const { elapsed, usual, tone } = props;
  const scale = Math.max(elapsed, usual * SCALE, 1);
  const [run, tick] = [(elapsed / scale) * 100, (usual / scale) * 100];
  return (
    <svg class={`run-bar tone-${tone}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="run-track" width="100" height="10" />
      <rect class="run-done" width={run.toFixed(1)} y="1" height="8" />
      <rect class="run-tick" x={Math.max(0, tick - 0.5).toFixed(1)} width="1" height="10" />
    </svg>
  );
}
