/**
 * Finds out whether the tasks that workers receive were announced by a `task-sent` event.
 *
 * It follows a sample of ids. At first, all ids are in the sample. It is halved whenever more than
 * {@link MOST_IDS} announced tasks are still to be received. So memory is bounded, and no id of the sample is
 * forgotten, which would make its task look unannounced.
 */

/** Most ids of announced tasks. */
const MOST_IDS = 5000;
/** How much later than the worker's event an announcement may arrive, in milliseconds. */
const GRACE_MS = 10_000;
/** Most received tasks to judge per {@link GRACE_MS}: so many are remembered at most. */
const MOST_JUDGED = 50;
/** Longest name to remember, in characters. */
const LONGEST_NAME = 200;
/** Characters at the end of an id that its hash is made of. */
const HASHED = 64;
/** Number of received tasks after which the counts are halved, so that recent tasks count more. */
const WINDOW = 200;

/** The findings so far. */
export interface SentFacts {
  /** Whether a client has ever reported a task that it sent. */
  readonly isHeard: boolean;
  /** Of recently received tasks, how many were announced. */
  readonly announced: number;
  /** Of recently received tasks, how many were not. */
  readonly unannounced: number;
  /** Names of some tasks that were not announced. */
  readonly names: readonly string[];
}

/** Follows the ids of tasks. Times in milliseconds. */
export interface SentWatch {
  /** A `task-sent` event has arrived. */
  sent(id: string): void;
  /** A worker has received a task. */
  received(id: string, name: string | null | undefined, now: number): void;
  /** An event reports that a task has ended. */
  ended(id: string): void;
  /** A result was published. It may overtake the events, which workers send in batches. */
  hasResult(id: string, now: number): void;
  facts(now: number): SentFacts;
  /** Forgets all tasks, because messages may have been missed. */
  clear(): void;
}

interface State {
  isHeard: boolean;
  /** Ids of announced tasks that no worker has received. */
  readonly announcedIds: Set<string>;
  /** Received tasks that are not announced yet. */
  readonly pending: Map<string, { readonly at: number; readonly name: string | null }>;
  /** Announced tasks with a result: since the last turn, and from the turn before. */
  withResult: Set<string>;
  withOldResult: Set<string>;
  turnedAt: number;
  /** An id is in the sample if its hash has none of these bits; if negative, no id is. */
  mask: number;
  /** When the current period of judging began, and how many tasks it may still judge. */
  periodAt: number;
  left: number;
  announced: number;
  unannounced: number;
  names: string[];
}

/** Creates a watch without any findings. */
export function createSentWatch(): SentWatch {
  const state = newState();
  return {
    sent: (id) => sent(state, id),
    received: (id, name, now) => received(state, id, name, now),
    ended: (id) => void state.announcedIds.delete(id),
    hasResult: (id, now) => hasResult(state, id, now),
    facts(now) {
      settle(state, now);
      const { isHeard, announced, unannounced, names } = state;
      return { isHeard, announced, unannounced, names };
    },
    clear() {
      const { isHeard, turnedAt, periodAt, left } = state;
      Object.assign(state, newState(), { isHeard, turnedAt, periodAt, left });
    },
  };
}

function newState(): State {
  return {
    isHeard: false,
    announcedIds: new Set(),
    pending: new Map(),
    withResult: new Set(),
    withOldResult: new Set(),
    turnedAt: Number.NEGATIVE_INFINITY,
    mask: 0,
    periodAt: Number.NEGATIVE_INFINITY,
    left: 0,
    announced: 0,
    unannounced: 0,
    names: [],
  };
}

function sent(state: State, id: string): void {
  state.isHeard = true;
  if (state.pending.delete(id)) {
    judge(state, true);
  } else if (inSample(state, id)) {
    state.announcedIds.add(id);
    if (state.announcedIds.size > MOST_IDS) halve(state);
  }
}

function received(state: State, id: string, name: string | null | undefined, now: number): void {
  if (!inSample(state, id)) return;
  const isAnnounced = state.announcedIds.delete(id);
  if (now - state.periodAt >= GRACE_MS) {
    settle(state, now);
    state.periodAt = now;
    state.left = MOST_JUDGED;
  }
  if (state.left === 0) return;
  state.left -= 1;
  const isShort = typeof name === 'string' && name.length < LONGEST_NAME;
  if (isAnnounced) judge(state, true);
  else state.pending.set(id, { at: now, name: isShort ? name : null });
}

/** Forgets tasks that have had a result for a while: their events were missed. */
function hasResult(state: State, id: string, now: number): void {
  if (!state.announcedIds.has(id)) return;
  state.withResult.add(id);
  if (now - state.turnedAt < GRACE_MS) return;
  for (const old of state.withOldResult) state.announcedIds.delete(old);
  state.withOldResult = state.withResult;
  state.withResult = new Set();
  state.turnedAt = now;
}

function inSample({ mask }: State, id: string): boolean {
  return mask === 0 || (mask > 0 && (hashOf(id) & mask) === 0);
}

function halve(state: State): void {
  const { announcedIds } = state;
  state.mask = state.mask * 2 + 1;
  for (const id of announcedIds) if (!inSample(state, id)) announcedIds.delete(id);
  if (announcedIds.size <= MOST_IDS) return;
  // A client sends ids that all have the same hash.
  announcedIds.clear();
  state.mask = -1;
}

function judge(state: State, isAnnounced: boolean): void {
  if (isAnnounced) state.announced += 1;
  else state.unannounced += 1;
  if (state.announced + state.unannounced < WINDOW) return;
  state.announced /= 2;
  state.unannounced /= 2;
}

/** Judges the received tasks whose announcement can no longer arrive. */
function settle(state: State, now: number): void {
  for (const [id, { at, name }] of state.pending) {
    if (now - at < GRACE_MS) return;
    state.pending.delete(id);
    judge(state, false);
    if (name !== null && !state.names.includes(name)) state.names = [name, ...state.names].slice(0, 3);
  }
}

function hashOf(id: string): number {
  let hash = 0;
  for (let at = Math.max(0, id.length - HASHED); at < id.length; at += 1) {
    hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
  }
  // The lower bits of a product are less random: mix in the higher ones.
  return hash ^ (hash >>> 15);
}
