import type { RunningTaskBody, WorkerBody } from '../../wire.ts';
import { Status } from '../parts/state-badge.tsx';
import { counted, duration } from '../text/numbers.ts';
import { elapsedOf, stuckTasks } from './load.ts';

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
