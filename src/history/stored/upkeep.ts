/** Maintenance of the store by the holder of the lease: old days are dropped, and the feed is kept short. */
import type { StoreStatus } from '../stored-history.ts';
import { areClocksApart, isHolder, type StoredState } from './stored-state.ts';
import { dayAt } from './task-writer.ts';
import { oldestWaiting } from './write-behind.ts';

/** Between two clean-ups, in milliseconds. */
const CLEAN_MS = 60 * 60_000;
/** How many times the length of the feed is kept. */
const FEEDS = 2;

/** Longest clean-up, in milliseconds. */
const DEADLINE_MS = 120_000;

const DAY_MS = 24 * 60 * 60_000;

/** Records when more has been lost. */
export function noteLosses(state: StoredState): void {
  const lost = lostIn(state);
  if (lost === state.lostBefore) return;
  state.lostBefore = lost;
  state.lostAt = Math.round(state.clock.now() - state.clock.ahead());
}

/** Reads the size of the store, and cleans it up once an hour. */
export async function keepStore(state: StoredState): Promise<void> {
  const { session, clock, calls, options, maxEvents } = state;
  if (session === null) return;
  const now = clock.elapsed();
  const isKeeper = isHolder(state) && !state.isReadOnly;
  if (isKeeper && now - state.cleanedAt >= CLEAN_MS && !areClocksApart(state)) {
    const today = dayAt(clock);
    const day = today - options.store.retention.taskDays;
    await calls.ask('upkeep', () => session.tasks.dropBefore(day, today), DEADLINE_MS);
    const oldest = clock.now() - options.store.retention.rollupDays * DAY_MS;
    await calls.ask('upkeep', () => session.causes.dropBefore(oldest), DEADLINE_MS);
    await calls.ask('upkeep', () => session.feed.trim(FEEDS * maxEvents), DEADLINE_MS);
    state.cleanedAt = now;
  }
  state.bytes = await calls.ask('upkeep', () => session.size());
}

/** Tasks, relations and feed items that were dropped before they could be written. */
function lostIn({ tasks, relations, feed }: StoredState): number {
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
