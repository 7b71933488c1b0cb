import type { WorkerBody } from '../../client.ts';
import { Status } from '../parts/state-badge.tsx';
import { linkTo } from '../route.ts';
import { counted } from '../text/numbers.ts';
import { stuckTasks } from './load.ts';

/** The link to one worker. */
export const workerLink = (hostname: string): string => linkTo(`workers/${encodeURIComponent(hostname)}`);

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
