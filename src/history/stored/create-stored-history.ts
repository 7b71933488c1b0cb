/** A history in memory that is kept in a store. */
import { randomBytes } from 'node:crypto';
import { scheduler } from '../../scheduler.ts';
import type { Awaitable, ReadContext, SharedNotes } from '../../source.ts';
import { waitFor } from '../../waiting.ts';
import type { HistoryReader } from '../history.ts';
import type { MemoryAccess } from '../memory/memory-access.ts';
import type { HistoryTap } from '../memory/tap.ts';
import { createMemoryHistory, type MemoryHistory, type MemoryHistoryOptions } from '../memory-history.ts';
import { resolveRetention } from '../retention.ts';
import type { StoreSession } from '../store.ts';
import type { Hearing, StoredHistory, StoredHistoryOptions } from '../stored-history.ts';
import { changeHearing, createJobs, freezeAt, gapFound, type Jobs } from './jobs.ts';
import { createContext, isStoreAway, type ReaderContext } from './read/reader-context.ts';
import { createStatsReader, type StatsReader } from './read/stats-reader.ts';
import { createStoredCounts, getActivity } from './read/stored-activity.ts';
import { getTaskStats } from './read/stored-stats.ts';
import { listTasks } from './read/task-pages.ts';
import { getTask, getTaskTree } from './read/task-trees.ts';
import { createStoreCalls, createStoreClock } from './store-calls.ts';
import {
  createCauseNotes,
  createTaskBacklog,
  hasOthers,
  isHolder,
  mayWrite,
  noteChanged,
  noteDropping,
  noteStep,
  PACE,
  type Pace,
  type StoredState,
} from './stored-state.ts';
import { createTextCopies } from './texts.ts';
import { noteRelation, statusOf } from './write-behind.ts';

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
    flush: jobs.write,
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

/** Kinds of these texts end with a number. */
const KIND = 'router.notes.';
/** Longest wait for the store, in milliseconds. */
const DEADLINE_MS = 3_000;

/** @returns opens notes: the first that are open in each process are the same, and so are the second ones */
function createNotes(state: StoredState): () => SharedNotes {
  const taken = new Set<number>();

  async function ask<Result>(work: (session: StoreSession) => Promise<Result>): Promise<Result> {
    const { session, calls } = state;
    if (session === null) throw new Error('The store is not open.');
    return calls.ask('copy', () => work(session), DEADLINE_MS);
  }

  return function openNotes() {
    let number = 0;
    while (taken.has(number)) number += 1;
    taken.add(number);
    const kind = `${KIND}${number}`;
    return {
      isHolder: () => (isHolder(state) ? true : state.lease.isKnown && state.lease.isTaken ? false : null),
      read: async () => (await ask(({ snapshots }) => snapshots.read([kind]))).get(kind) ?? null,
      write: (text) => ask(({ snapshots }) => snapshots.write(new Map([[kind, text]]))),
      close: () => void taken.delete(number),
    };
  };
}

/** @returns the state of a history whose store has not been opened yet */
function createState(memory: MemoryHistoryOptions, options: StoredHistoryOptions, pace: Pace): StoredState {
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

/** All instances on one store list the same tasks in the same order, so cursors are valid at each of them. */
const INSTANCE = 'store';

/** Answers of a stored history. */
interface StoredReader extends HistoryReader {
  readonly getTaskStats: StatsReader;
}

/** The reader of a history that is kept in a store. Reads of recent data never wait for the store. */
function createStoredReader(state: StoredState): StoredReader {
  const context = createContext(state);
  const { reader } = context.memory;
  const readCounts = createStoredCounts(context);
  return {
    ...reader,
    instance: INSTANCE,
    listTasks: (query, read) => listTasks(fromNowOn(context), query, read),
    getTask: (id, read) => getTask(fromNowOn(context), id, read),
    getTaskTree: (id, read) => getTaskTree(fromNowOn(context), id, read),
    getTaskStats: createStatsReader(context, (query, read) => getTaskStats(context, query, read)),
    getActivity: (read) => getActivity(context, readCounts, read),
    listKnown: (ids, read) => listKnown(context, ids, read),
    freshness(part) {
      const { revision, changesAt } = reader.freshness(part);
      return { revision: revision + state.revision, changesAt };
    },
  };
}

/**
 * For one read: memory is asked first, and may be filled before the decision whether to ask the store, too. The answer
 * of memory then lacks what it has by now.
 */
function fromNowOn(context: ReaderContext): ReaderContext {
  const before = context.droppedThrough();
  return { ...context, droppedThrough: () => Math.max(before, context.droppedThrough()) };
}

/** Tasks of one read. */
const BATCH = 1_000;
/** Most tasks that are looked up in the store for one answer. */
const MOST_READ = 10_000;

/**
 * Which of these tasks are known. Asks the store only for what memory does not know. While the store is unreachable
 * these count as unknown: the findings of collectors about them are then shown.
 */
function listKnown(
  reader: ReaderContext,
  ids: Iterable<string>,
  context: ReadContext,
): Awaitable<ReadonlySet<string>> {
  const { memory, droppedThrough, known } = reader;
  const found = new Set<string>();
  const open: string[] = [];
  const isAll = droppedThrough() === Number.NEGATIVE_INFINITY;
  for (const id of ids) {
    const isKnown = memory.has(id) || (isAll ? false : known.get(id));
    if (isKnown === true) found.add(id);
    else if (isKnown === null && open.length < MOST_READ) open.push(id);
  }
  return open.length === 0 ? found : readKnown(reader, open, found, context);
}

async function readKnown(
  { reads, known }: ReaderContext,
  ids: readonly string[],
  found: Set<string>,
  context: ReadContext,
): Promise<ReadonlySet<string>> {
  try {
    for (let at = 0; at < ids.length; at += BATCH) {
      const batch = ids.slice(at, at + BATCH);
      const stored = await reads.read((session) => session.tasks.known(batch), context);
      for (const id of batch) {
        known.set(id, stored.has(id));
        if (stored.has(id)) found.add(id);
      }
    }
  } catch (error) {
    if (!isStoreAway(error)) throw error;
  }
  return found;
}
