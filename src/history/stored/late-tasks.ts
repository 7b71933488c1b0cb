/**
 * Completes tasks of which memory knows only the end, because it has dropped the beginning or was started later. The
 * instance that writes reads stored tasks before it writes; this is for the other instances.
 */
import type { StoreSession } from '../store.ts';
import { loadWhole } from './loading.ts';
import type { StoredState } from './stored-state.ts';

/** Most tasks that are looked up at a time; the others follow with the next write. */
const MOST = 5_000;
/** For how long a task about which the store knows no more is not read again, in milliseconds. */
const AGAIN_MS = 10_000;

/** Absorbs the stored data of tasks that have changed lately. Rejects with what the store throws. */
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
