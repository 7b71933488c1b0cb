/** Finds open tasks that are in no queue, on no worker and without a result: never received, or ended unobserved. */

import { isTaken } from '../../../history/changes.ts';
import type { CollectedHistory, OpenTask, TaskChange } from '../../../history/history.ts';
import type { Running } from './running.ts';

const FIRST_TICK_MS = 1_000;
const TICK_MS = 10_000;
/** How long a task must have been open: messages take a moment, and queues are read about once a second. */
const SETTLED_MS = 30_000;
/** For how long a task that was not found is not searched again. */
const AGAIN_MS = 120_000;
/** Most open tasks to check, and most tasks to search for, at once. */
const MAX_OPEN = 5_000;
const MAX_SEARCHED = 500;

/** Parameters of the watch. */
interface TaskWatchOptions {
  readonly history: CollectedHistory;
  /** Asks the workers which tasks they have and records the answer; `null` when they could not be asked. */
  readonly running: () => Promise<Running | null>;
  /** Whether a message of this task is in a queue or unacknowledged; `null` when unknown. */
  readonly isQueued: (id: string) => boolean | null;
  /** Looks up stored results and records them. */
  readonly lookUp: (ids: string[]) => Promise<unknown>;
  /** Whether events have arrived that are not recorded yet. */
  readonly isBehind: () => boolean;
  /** Whether an end would be known: results can be read, or all workers send events. */
  readonly seesEnds: () => boolean;
  /** Whether some workers send no events. */
  readonly isBlind: () => boolean;
}

/** Runs periodically until it is closed. */
export type TaskWatch = ReturnType<typeof createTaskWatch>;

interface State {
  readonly options: TaskWatchOptions;
  readonly unseenEnds: ReturnType<typeof createUnseenEnds>;
  /** When each task that was not found may be searched for again, in monotonic milliseconds. */
  readonly searched: Map<string, number>;
  /** Since when no event has been missed, in milliseconds since 1970. */
  wholeSince: number;
  /** Whether the workers are to be asked although no task is missing. */
  isWanted: boolean;
  isBusy: boolean;
  closed: boolean;
}

/**
 * Marks tasks as `never_received` that were sent a while ago, are in no queue and on no worker and have no result, if
 * queues and workers could be asked and an end would be known; as revoked those of them that have expired, if a receipt
 * would have been seen; and as `end_unseen` tasks that their worker no longer runs.
 */
export function createTaskWatch(options: TaskWatchOptions) {
  const state: State = {
    options,
    unseenEnds: createUnseenEnds(options),
    searched: new Map(),
    wholeSince: Date.now(),
    isWanted: true,
    isBusy: false,
    closed: false,
  };
  const first = setTimeout(() => void tick(state), FIRST_TICK_MS).unref();
  const ticker = setInterval(() => void tick(state), TICK_MS).unref();
  return {
    /** To be called when something may have been missed: the next tick asks the workers. */
    askSoon() {
      state.wholeSince = Date.now();
      state.isWanted = true;
    },
    close() {
      state.closed = true;
      clearTimeout(first);
      clearInterval(ticker);
    },
  };
}

async function tick(state: State): Promise<void> {
  if (state.isBusy) return;
  state.isBusy = true;
  try {
    await look(state);
  } catch {
    // The broker is unreachable. `askSoon` is called when it is back.
  } finally {
    state.isBusy = false;
  }
}

async function look(state: State): Promise<void> {
  const { history, running, lookUp, isBehind, isBlind, seesEnds } = state.options;
  const { unseenEnds } = state;
  const ids = candidates(state);
  const taken = unseenEnds.candidates();
  if (ids.length === 0 && !unseenEnds.isDue(taken) && !state.isWanted && !isBlind()) return;
  const held = await running();
  if (held === null || state.closed) return;
  state.isWanted = false;
  await unseenEnds.compare(taken, held);
  // Only active tasks matter: messages of reserved ones are unacknowledged, so `isQueued` finds them.
  if (!held.complete.includes('active')) return;
  const lost = ids.filter((id) => !held.tasks.has(id));
  if (lost.length === 0) return;
  await lookUp(lost);
  for (const id of lost) {
    const { expires = null, heardAt = 0 } = history.index.openTask(id) ?? {};
    if (state.closed || history.index.stateOf(id) !== 'PENDING' || !isGone(state, id, expires)) continue;
    const isExpired = hasPassed(expires);
    const isHeard = heardAt >= state.wholeSince && !isBehind() && !isBlind();
    // One that a worker took would have been reported.
    if (isExpired && isHeard) history.writer.recordTask(expiry(id, expires));
    else if (!isExpired && seesEnds()) history.writer.recordMissing(id, true);
    state.searched.set(id, performance.now() + AGAIN_MS);
  }
}

/** Whether no queue has its message. RabbitMQ cannot be asked for it, but drops what has expired. */
function isGone({ options: { isQueued } }: State, id: string, expires: number | null): boolean {
  return isQueued(id) === false || (isQueued(id) === null && hasPassed(expires));
}

function hasPassed(time: number | null): time is number {
  return time !== null && time <= Date.now();
}

function expiry(id: string, time: number): TaskChange {
  return { id, type: 'revoked', origin: 'event', stored: true, time, detail: 'expired' };
}

/** Open tasks that were sent a while ago, are in no queue and were not searched for recently. */
function candidates(state: State): string[] {
  const { options, searched } = state;
  const now = performance.now();
  for (const [id, until] of searched) if (until <= now) searched.delete(id);
  const settled = Date.now() - SETTLED_MS;
  return options.history.index
    .listOpen(MAX_OPEN)
    .filter((task) => task.state === 'PENDING' && task.heardAt < settled && !searched.has(task.id))
    .filter(({ id, expires }) => isGone(state, id, expires))
    .map(({ id }) => id)
    .slice(0, MAX_SEARCHED);
}

/** How long a task must have been without messages before its worker is asked about it, in milliseconds. */
const TAKEN_SETTLED_MS = 15_000;
/** How long at least passes between the two replies that prove an end: an event may be late. */
const APART_MS = 5_000;
/** For how long a task that its worker still has is not asked about again; doubles each time. */
const FIRST_WAIT_MS = 20_000;
const LONGEST_WAIT_MS = 300_000;

interface UnseenState {
  readonly options: TaskWatchOptions;
  readonly absent: Map<
    string,
    {
      readonly task: OpenTask;
      /** When the worker was asked, milliseconds since 1970. */
      readonly askedAt: number;
    }
  >;
  /** When to ask again about tasks that their workers have. */
  readonly waits: Map<string, { readonly until: number; readonly ms: number }>;
}

/**
 * A task has ended unobserved when the worker that took it has answered twice, some seconds apart, that it does not run
 * it, without any message of the task in between, and there is no stored result. For a task that waits for a retry, the
 * worker of the next attempt is unknown: all workers have answered, and its message is in no queue.
 */
function createUnseenEnds(options: TaskWatchOptions) {
  const state: UnseenState = { options, absent: new Map(), waits: new Map() };
  return {
    /** Tasks that the next reply is to be compared with. To be called before the workers are asked. */
    candidates: () => candidatesOf(state),
    /** Whether it is time to ask about any of them. */
    isDue: (candidates: readonly OpenTask[]) => {
      const now = performance.now();
      return candidates.some(({ id }) => !((state.waits.get(id)?.until ?? 0) > now));
    },
    /** Records the tasks of which a second reply proves that they have ended. */
    compare: (candidates: readonly OpenTask[], reply: Running) => compare(state, candidates, reply),
  };
}

function candidatesOf({ options: { history, isQueued }, absent, waits }: UnseenState): readonly OpenTask[] {
  const settled = Date.now() - TAKEN_SETTLED_MS;
  const open = history.index.listOpen(MAX_OPEN);
  const candidates = open.filter((task) => {
    const { id, state, worker, heardAt } = task;
    if (heardAt >= settled) return false;
    if (state === 'RETRY') return isQueued(id) === false;
    if (worker === null || !isTaken(state)) return false;
    // The message of a task that a worker holds back is unacknowledged.
    return state === 'RECEIVED' ? isQueued(id) === false : isQueued(id) !== true;
  });
  keepOnly(absent, candidates);
  // A reply that has a task counts as news of it, after which it is no candidate for a while.
  keepOnly(waits, open);
  return candidates;
}

function keepOnly(map: Map<string, unknown>, tasks: readonly OpenTask[]): void {
  const ids = new Set(tasks.map(({ id }) => id));
  for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
}

async function compare(
  state: UnseenState,
  candidates: readonly OpenTask[],
  { tasks, reporters, complete, askedAt }: Running,
): Promise<void> {
  const { absent } = state;
  const ended: OpenTask[] = [];
  for (const task of candidates) {
    const { id, worker } = task;
    const hasAnswered =
      task.state === 'RETRY' ? complete.includes('active') : worker !== null && reporters.has(worker);
    if (tasks.has(id) || !hasAnswered) {
      absent.delete(id);
      wait(state, id);
      continue;
    }
    const before = absent.get(id);
    if (before === undefined || !isUnchanged(before.task, task)) absent.set(id, { task, askedAt });
    else if (askedAt - before.askedAt >= APART_MS) ended.push(task);
  }
  if (ended.length > 0) await record(state, ended);
}

function wait({ waits }: UnseenState, id: string): void {
  const now = performance.now();
  const before = waits.get(id);
  if (before !== undefined && before.until > now) return;
  const ms = Math.min((before?.ms ?? FIRST_WAIT_MS / 2) * 2, LONGEST_WAIT_MS);
  waits.set(id, { until: now + ms, ms });
}

async function record(state: UnseenState, ended: readonly OpenTask[]): Promise<void> {
  const { history, isQueued, lookUp, isBehind } = state.options;
  await lookUp(ended.map(({ id }) => id));
  if (isBehind()) return;
  for (const task of ended) {
    const now = history.index.openTask(task.id);
    if (now === null || !isUnchanged(task, now)) continue;
    // Its process is gone, so that the task did not end: it is lost.
    if (history.index.isLost(now)) {
      state.absent.delete(task.id);
      wait(state, task.id);
      continue;
    }
    const queued = isQueued(task.id);
    if (queued === true || (task.state === 'RETRY' && queued === null)) continue;
    history.writer.recordEndUnseen(task.id, true);
  }
}

/** Whether no message has changed a task since. */
function isUnchanged(before: OpenTask, now: OpenTask): boolean {
  return before.state === now.state && before.worker === now.worker && before.timestamp === now.timestamp;
}
