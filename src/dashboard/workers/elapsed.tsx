import type { RunningTaskBody } from '../../client.ts';
import { clock } from '../live/clock.ts';
import { useStore } from '../store.ts';
import { duration } from '../text/numbers.ts';
import { elapsedOf } from './load.ts';

/** The length of a bar, as a multiple of the usual run time, unless the task has run for longer. */
const SCALE = 1.5;

/** Above ten minutes, seconds do not matter. */
const unitOf = (ms: number): number => (ms < 10_000 ? 1 : ms < 600_000 ? 1_000 : 60_000);
const whole = (ms: number): string => duration(Math.floor(ms / unitOf(ms)) * unitOf(ms));

/** How long a task has run, as a bar with a tick at the time that 95 % of the runs of its name do not exceed. */
export function Elapsed({ task }: { readonly task: RunningTaskBody }) {
  const now = useStore(clock);
  const elapsed = elapsedOf(task, now);
  const usual = task.runtime_p95 === null ? null : task.runtime_p95 * 1_000;
  const tone = task.stuck === true ? 'failure' : usual !== null && elapsed > usual ? 'retry' : 'running';
  return (
    <span class="elapsed">
      {usual !== null && <Bar elapsed={elapsed} usual={usual} tone={tone} />}
      <b class={`num tone-${tone}`}>{whole(Math.max(1_000, elapsed))}</b>{' '}
      <span class="dim">{usual === null ? 'usual time unknown' : `p95 ${whole(usual)}`}</span>
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
