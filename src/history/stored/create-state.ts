/** Creates everything that a stored history consists of. */

import { randomBytes } from 'node:crypto';
import type { MemoryAccess } from '../memory/memory-access.ts';
import type { HistoryTap } from '../memory/tap.ts';
import { createMemoryHistory, type MemoryHistory, type MemoryHistoryOptions } from '../memory-history.ts';
import { resolveRetention } from '../retention.ts';
import type { StoredHistoryOptions } from '../stored-history.ts';
import { createCauseNotes } from './cause-notes.ts';
import { gapFound } from './hearing.ts';
import { createTextCopies } from './shared-texts.ts';
import { createStoreCalls, createStoreClock } from './store-calls.ts';
import type { Pace, StoredState } from './stored-state.ts';
import { createTaskBacklog, noteChanged, noteDropping, noteStep } from './task-backlog.ts';
import { noteRelation } from './write-behind.ts';

/** @returns the state of a history whose store has not been opened yet */
export function createState(
  memory: MemoryHistoryOptions,
  options: StoredHistoryOptions,
  pace: Pace,
): StoredState {
  const { now = Date.now, redactor = null } = memory;
  const { hearing, store } = options;
  const instance = randomBytes(9).toString('base64url');
  const clock = createStoreClock(now);
  const calls = createStoreCalls(redactor);
  const history: MemoryHistory = createMemoryHistory({
    ...memory,
    instance,
    clockOffset: clock.ahead,
    tap: createTap(() => state),
  });
  const state: StoredState = {
    options,
    instance,
    clock,
    calls,
    history,
    access: createAccess(history.access, () => state),
    hearing,
    pace,
    maxEvents: memory.maxEvents ?? resolveRetention({}, 'createStoredHistory').maxEvents,
    isReadOnly: options.isReadOnly || store.isReadOnly,
    session: null,
    lease: {
      heldUntil: Number.NEGATIVE_INFINITY,
      isKnown: false,
      isTaken: false,
      isWanted: true,
      othersSeenAt: Number.NEGATIVE_INFINITY,
    },
    tasks: createTaskBacklog(),
    causes: createCauseNotes(),
    relations: { waiting: [], lost: 0 },
    feed: { written: 0, heard: 0, since: 0, lastArrival: null, readThrough: 0, lost: 0 },
    texts: createTextCopies(calls),
    rollups: null,
    countedSince: null,
    hostnames: new Set(),
    areWorkersChanged: false,
    areTextsKnown: false,
    spans: [],
    hearsSince: hearing === 'all' ? clock.elapsed() : null,
    coverageWrittenAt: Number.NEGATIVE_INFINITY,
    frozenAt: null,
    isLoading: true,
    revision: 0,
    batches: 0,
    lastWrite: null,
    bytes: null,
    cleanedAt: Number.NEGATIVE_INFINITY,
    unreadable: 0,
    hasWarned: false,
    lostBefore: 0,
    lostAt: null,
    isClosed: false,
  };
  return state;
}

/**
 * Memory as the code for the store sees it. Once this instance receives nothing, no task is absorbed any more: a load
 * still under way would add tasks that are no longer kept up to date and hide what others have stored since.
 */
function createAccess(access: MemoryAccess, stateNow: () => StoredState): MemoryAccess {
  const isDeaf = (): boolean => stateNow().hearing === 'nothing';
  return {
    ...access,
    absorbTask(task, ...given) {
      const isAdded = !access.has(task.record.id);
      return isAdded && isDeaf() ? 'refused' : access.absorbTask(task, ...given);
    },
    absorbRelation(relation) {
      if (!isDeaf()) access.absorbRelation(relation);
    },
  };
}

/** Records changes. @param stateNow returns the state, which exists before anything can change */
function createTap(stateNow: () => StoredState): HistoryTap {
  return {
    taskChanged(id) {
      const { tasks, clock } = stateNow();
      noteChanged(tasks, id, clock.elapsed());
    },
    stepTaken: (id, step) => noteStep(stateNow().tasks, id, step),
    isUnwritten: (id) => stateNow().tasks.changed.has(id),
    taskDropping: (id) => noteDropping(stateNow().tasks, id),
    relationAdded: (relation) => noteRelation(stateNow(), relation),
    workerChanged(hostname) {
      const state = stateNow();
      state.hostnames.add(hostname);
      state.areWorkersChanged = true;
    },
    eventAdded(number, _item, arrivedAt) {
      const { feed, clock } = stateNow();
      if (feed.written === feed.heard) feed.since = clock.elapsed();
      feed.heard = number;
      feed.lastArrival = arrivedAt;
    },
    gapFound: () => gapFound(stateNow(), null),
  };
}
