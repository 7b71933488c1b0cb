import type { StoreStatus } from '../stored-history.ts';
import { areClocksApart, isHolder, type StoredState } from './stored-state.ts';
import { oldestWaiting } from './write-behind.ts';

/** Tasks, relations and feed items that were dropped before they could be written. */
export function lostIn({ tasks, relations, feed }: StoredState): number {
  return tasks.lost + relations.lost + feed.lost;
}

/** How the store of a history is doing. */
export function statusOf(state: StoredState): StoreStatus {
  const { options, session, lease, tasks, calls, clock } = state;
  const problem = calls.problem();
  const oldest = oldestWaiting(state);
  return {
    engine: options.store.engine,
    phase: session === null ? 'opening' : state.isLoading ? 'loading' : 'ready',
    isHolder: lease.isKnown || isHolder(state) ? isHolder(state) : null,
    waiting: tasks.changed.size,
    waitingSince: oldest === null ? null : Math.round(clock.databaseAt(oldest) - clock.ahead()),
    lastWrite: state.lastWrite,
    error: problem?.sentence ?? null,
    code: problem?.code ?? null,
    remedy: problem?.remedy ?? null,
    lost: lostIn(state),
    lostAt: state.lostAt,
    bytes: state.bytes,
    areClocksApart: areClocksApart(state),
    unreadable: state.unreadable,
  };
}
