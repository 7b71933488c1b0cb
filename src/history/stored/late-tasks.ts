/**
 * Completes tasks of which memory knows the end alone, because it has dropped the beginning or was started later. Who
 * writes reads what is stored before it writes; this is for the instances that leave writing to another one.
 */
import type { StoreSession } from '../store.ts';
import { loadWhole } from './loading.ts';
import type { StoredState } from './stored-state.ts';

/** Most tasks that are looked up at a time; the others follow with the next write. */
const MOST = 5_000;
/** A task of which the store knows no more is not read again for so long, in milliseconds. */
const AGAIN_MS = 10_000;

/** Takes in what is stored of tasks that have changed lately. Rejects with what the store throws. */
export async function completeTasks(state: StoredState, session: StoreSession): Promise<void> {
  const { access, history, tasks, clock, calls, completed } = state;
  if (state.hearing !== 'all' || access.droppedThrough() === Number.NEGATIVE_INFINITY) return;
  const now = clock.elapsed();
  for (const [id, at] of completed) {
    if (now - at < AGAIN_MS) break;
    completed.delete(id);
  }
  const { has, isBegun } = history.view;
  const late = [...tasks.changed.keys()]
    .filter((id) => has(id) && !completed.has(id) && !isBegun(id))
    .slice(0, MOST);
  if (late.length === 0) return;
  const found = await calls.ask('load', () => session.tasks.known(late));
  await loadWhole(state, session, [...found]);
  for (const id of late) completed.set(id, now);
}
