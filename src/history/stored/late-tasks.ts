/**
 * Completes tasks of which memory knows the end alone, because it has dropped the beginning or was started later. Who
 * writes reads what is stored before it writes; this is for the instances that leave writing to another one.
 */
import { scheduler } from '../../scheduler.ts';
import type { StoreSession } from '../store.ts';
import { takeIn } from './loading.ts';
import type { StoredState } from './stored-state.ts';

/** Tasks of one read. */
const BATCH = 1_000;

/** Takes in what is stored of tasks that have changed since the last time. Rejects with what the store throws. */
export async function completeTasks(state: StoredState, session: StoreSession): Promise<void> {
  const { access, history, tasks, clock, calls } = state;
  if (state.hearing !== 'all' || access.droppedThrough() === Number.NEGATIVE_INFINITY) return;
  const through = clock.elapsed();
  const late: string[] = [];
  for (const [id, at] of tasks.changed) {
    if (at >= state.completedThrough && !history.view.isBegun(id)) late.push(id);
  }
  for (let at = 0; at < late.length; at += BATCH) {
    const ids = late.slice(at, at + BATCH);
    const stored = await calls.ask('load', () => session.tasks.read(ids));
    await scheduler.run('load', takeIn(state, stored, true));
  }
  state.completedThrough = through;
}
