/** A history in memory that is kept in a store. */
import { scheduler } from '../../scheduler.ts';
import { waitFor } from '../../waiting.ts';
import type { MemoryHistoryOptions } from '../memory-history.ts';
import type { Hearing, StoredHistory, StoredHistoryOptions } from '../stored-history.ts';
import { createState } from './create-state.ts';
import { changeHearing, freezeAt } from './hearing.ts';
import { createJobs, type Jobs } from './jobs.ts';
import { createStoredReader } from './read/stored-reader.ts';
import { createNotes } from './source-texts.ts';
import { hasOthers, isHolder, mayWrite, PACE, type Pace, type StoredState } from './stored-state.ts';
import { statusOf } from './upkeep.ts';

/** Longest time to write the remaining changes when the history is closed, in milliseconds. */
const CLOSE_MS = 2_000;

/**
 * Makes a history that is kept in a store. The store is opened in the background, and again and again until that
 * succeeds; until then, and while the database is unreachable, the history is only in memory.
 *
 * @param memory options of the part in memory. Its `tap`, `instance` and `clockOffset` are set here
 * @param pace for tests
 * @throws TypeError for an option out of its bounds
 */
export function createStoredHistory(
  memory: MemoryHistoryOptions,
  options: StoredHistoryOptions,
  pace: Pace = PACE,
): StoredHistory {
  const state = createState(memory, options, pace);
  const jobs = createJobs(state);
  const reader = createStoredReader(state);
  const { history, texts, lease } = state;
  let closing: Promise<void> | null = null;
  jobs.start();
  return {
    writer: { ...history.writer, freezeAt: (moment) => freezeAt(state, moment) },
    index: history.index,
    onEvent: history.onEvent,
    reader,
    readStats: reader.getTaskStats,
    texts: {
      publish(kind, text) {
        if (isHolder(state)) texts.publish(kind, text);
      },
      read: texts.read,
      revision: texts.revision,
    },
    status: () => statusOf(state),
    isHolder: () => isHolder(state),
    hasOthers: () => hasOthers(state),
    wantLease(wanted) {
      if (lease.isWanted === wanted) return;
      lease.isWanted = wanted;
      jobs.wake();
    },
    openNotes: createNotes(state),
    onLease: jobs.onLease,
    setHearing: (hearing) => setHearing(state, jobs, hearing),
    close() {
      closing ??= close(state, jobs);
      return closing;
    },
  };
}

async function setHearing(state: StoredState, jobs: Jobs, hearing: Hearing): Promise<void> {
  if (state.hearing === hearing) return;
  if (hearing === 'nothing') await waitFor(jobs.write(), { ms: CLOSE_MS });
  changeHearing(state, hearing);
  if (hearing === 'nothing') await scheduler.run('store', state.access.forgetTasks());
  jobs.wake();
}

async function close(state: StoredState, jobs: Jobs): Promise<void> {
  const { options, clock, lease, instance, history } = state;
  const until = clock.elapsed() + CLOSE_MS;
  const rest = (): number => Math.max(100, until - clock.elapsed());
  jobs.stop();
  // The last span ends now.
  state.coverageWrittenAt = Number.NEGATIVE_INFINITY;
  // A process that ends soon after its start may also have changes to write.
  if (!state.isReadOnly) await waitFor(jobs.open(), { ms: rest() });
  const { session } = state;
  if (session !== null && mayWrite(state)) await waitFor(jobs.write(), { ms: rest() });
  if (session !== null && isHolder(state)) {
    lease.heldUntil = Number.NEGATIVE_INFINITY;
    await waitFor(session.lease.release(instance), { ms: rest() });
  }
  state.isClosed = true;
  state.session = null;
  if (session !== null) await waitFor(options.store.close(session), { ms: rest() });
  history.close();
}
