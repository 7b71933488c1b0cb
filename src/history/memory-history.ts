/** A history in this process's memory. */

import { isName } from './changes.ts';
import type { History, HistoryIndex, HistoryWriter, TaskChange, WorkerChange } from './history.ts';
import { createMemoryAccess, type MemoryAccess } from './memory/memory-access.ts';
import { createMemoryReader } from './memory/memory-reader.ts';
import {
  addEvent,
  catchUp,
  clear,
  createMemoryState,
  type MemoryHistoryOptions,
  type MemoryState,
  packOldest,
} from './memory/memory-state.ts';
import { createRecorder, type Recorder } from './memory/task-recorder.ts';
import { readLife } from './table/record-table.ts';

export type { MemoryHistoryOptions } from './memory/memory-state.ts';

/** How often old tasks are evicted without reads, in milliseconds. */
const EVICTION_INTERVAL_MS = 10_000;

/** A history in memory, with its interface for the code that stores it. */
export interface MemoryHistory extends History {
  readonly access: MemoryAccess;
}

/**
 * Makes a history in memory, of one process. Its content is lost when the process ends.
 *
 * @throws TypeError for an option out of its bounds
 */
export function createMemoryHistory(options: MemoryHistoryOptions = {}): MemoryHistory {
  const state = createMemoryState(options);
  const recorder = createRecorder({ ...state, packOldest: () => packOldest(state) });
  const timer = setInterval(() => catchUp(state), EVICTION_INTERVAL_MS);
  timer.unref();
  const reader = createMemoryReader(state, recorder.lag);
  return {
    writer: createMemoryWriter(state, recorder),
    index: createMemoryIndex(state),
    reader,
    access: createMemoryAccess(state, recorder, reader),
    onEvent(listener) {
      state.listeners.add(listener);
      return () => void state.listeners.delete(listener);
    },
    close() {
      if (state.isClosed) return;
      state.isClosed = true;
      clearInterval(timer);
      clear(state);
    },
  };
}

/** How far a sender's clock may be ahead of ours, in milliseconds. */
const MAX_AHEAD_MS = 24 * 60 * 60_000;
/** Longest run time that is accepted, in seconds: ten years. */
const MAX_RUNTIME = 10 * 365 * 24 * 60 * 60;

/** The writer of a history in memory. */
function createMemoryWriter(state: MemoryState, recorder: Recorder): HistoryWriter {
  return {
    recordTask(change) {
      if (!state.isClosed) recorder.recordTask(plausible(change, state.clock()));
    },
    recordFacts(facts) {
      if (!state.isClosed) recorder.recordFacts(facts);
    },
    recordRelation(relation) {
      if (!state.isClosed) recorder.recordRelation(relation);
    },
    recordMissing(id, missing) {
      if (!state.isClosed) recorder.recordMissing(id, missing);
    },
    recordEndUnseen(id, unseen) {
      if (!state.isClosed) recorder.recordEndUnseen(id, unseen);
    },
    recordWorker(change) {
      if (!state.isClosed) recordWorker(state, change);
    },
    recordQueue(queue, waiting, oldestDueAt, isAtLeast = false) {
      const { isClosed, aggregate, clock } = state;
      if (isClosed || !isName(queue)) return;
      const now = clock();
      const oldest = { ageMs: oldestDueAt === null ? null : now - oldestDueAt, isAtLeast };
      aggregate.queues.addReading(queue, waiting, oldest, now);
    },
    recordDropped(count) {
      state.counts.dropped += count;
    },
    recordGap() {
      state.feed.markGap();
      state.deaths.gap();
      state.coverage.addGap(state.clock(), state.clock());
      state.revisions.events++;
      state.tap?.gapFound();
    },
    freezeAt: (moment) => freezeAt(state, moment),
  };
}

/**
 * The change without impossible values, which would stay on top of a list for ever: a time far ahead counts as not
 * reported, so the time of arrival is used, and a negative or excessive run time is left out.
 */
function plausible(change: TaskChange, now: number): TaskChange {
  const { time, runtime } = change;
  const isTime = !isAhead(time, now);
  const isRuntime = typeof runtime !== 'number' || (runtime >= 0 && runtime <= MAX_RUNTIME);
  if (isTime && isRuntime) return change;
  return { ...change, time: isTime ? time : null, ...(isRuntime ? {} : { runtime: null }) };
}

function isAhead(time: number | null, now: number): boolean {
  return time !== null && time > now + MAX_AHEAD_MS;
}

function recordWorker(state: MemoryState, reported: WorkerChange): void {
  const { workers, deaths, counts, revisions, clock, tap } = state;
  // A heartbeat dated far ahead would make all later ones seem overtaken.
  const change = isAhead(reported.time, clock()) ? { ...reported, time: clock() } : reported;
  if (change.type !== 'reply') counts.received++;
  if (!isName(change.hostname)) {
    counts.dropped++;
    return;
  }
  const { isNews, isChanged } = workers.record(change);
  deaths.worker(change);
  revisions.workers++;
  tap?.workerChanged(change.hostname);
  // Tasks of a worker that came online or went offline may gain or lose a flag.
  if (isNews || isChanged) revisions.tasks++;
  if (!isNews) return;
  const { type, hostname: worker, time } = change;
  const item = { type: `worker-${type}`, task: null, taskId: null, state: null, worker, time, detail: null };
  addEvent(state, item, clock());
}

function freezeAt(state: MemoryState, moment: Date | null): void {
  // No messages of workers could arrive while the source was disconnected.
  if (moment === null && state.frozenAt !== null) {
    state.workers.excuse(state.clock() - state.frozenAt);
    state.coverage.addGap(state.frozenAt, state.clock());
    state.deaths.gap();
    state.tap?.gapFound();
  }
  state.frozenAt = moment === null ? null : moment.getTime();
  state.revisions.tasks++;
  state.revisions.workers++;
}

/** The look-ups of a history in memory. */
function createMemoryIndex(state: MemoryState): HistoryIndex {
  const { records, rows, open, eviction } = state.tables;
  return {
    stateOf(id) {
      const slot = records.slots.get(id);
      return slot === undefined ? null : rows.state(slot);
    },
    lacksName(id) {
      catchUp(state);
      const slot = records.slots.get(id);
      return slot !== undefined && records.name[slot] === 0 && records.worker[slot] !== 0;
    },
    retriesOf(id) {
      const slot = records.slots.get(id);
      const attempt = slot === undefined ? -1 : rows.attempt(slot);
      return attempt < 0 ? null : attempt;
    },
    sentAt(id) {
      const slot = records.slots.get(id);
      if (slot === undefined || rows.state(slot) !== 'PENDING') return null;
      return readLife(records, slot).timestamp;
    },
    listOpen(limit) {
      catchUp(state);
      return open.list(limit);
    },
    openTask(id) {
      catchUp(state);
      const slot = records.slots.get(id);
      return slot === undefined ? null : open.find(slot);
    },
    isLost: ({ worker, timestamp }) =>
      worker !== null && state.workers.isLost(worker, timestamp ?? Number.NaN),
    wouldKeep(time) {
      catchUp(state);
      return eviction.wouldKeep(time);
    },
    checkWorkers: state.workers.check,
    heardWorkers: state.workers.heard,
  };
}
