/**
 * The state of a stored history, shared by its parts, with the tasks that wait to be written and what is known of their
 * stored versions. Times as `StoreClock.elapsed` unless a name says otherwise.
 */
import { createLruCache } from '../../lru-cache.ts';
import type { TaskCause, TaskRelation } from '../../model.ts';
import type { MemoryAccess } from '../memory/memory-access.ts';
import type { MemoryHistory } from '../memory-history.ts';
import type { RecordStep } from '../merge/merge.ts';
import type { CauseStore, StoredCause, StoreSession } from '../store.ts';
import type { Hearing, StoredHistoryOptions } from '../stored-history.ts';
import type { Rollups } from './rollups/create-rollups.ts';
import type { StoreCalls, StoreClock } from './store-calls.ts';
import type { Span, TextCopies } from './texts.ts';

/** Kinds of texts that the history itself keeps. */
export const TEXT = {
  workers: 'history.workers',
  /** Spans of time, see `coverage-text.ts`. */
  coverage: 'history.coverage',
  /** Changes with every batch of tasks. */
  tasks: 'history.tasks',
} as const;

/** Intervals of the repeated work, in milliseconds. */
export interface Pace {
  /** Between two writes, and between two reads of what others have written. */
  readonly intervalMs: number;
  /** How long the lease lasts. */
  readonly leaseMs: number;
  /** Between two renewals. Another instance takes the lease within 5 seconds after its holder has died. */
  readonly renewalMs: number;
}

/** Other instances lag by twice the interval plus the time of the statements. */
export const PACE: Pace = { intervalMs: 750, leaseMs: 3_500, renewalMs: 600 };

/** What is known about the lease. */
interface LeaseView {
  /** Until when this instance holds it at least. */
  heldUntil: number;
  /** Whether the store could be asked lately. */
  isKnown: boolean;
  /** Whether another instance held it then. */
  isTaken: boolean;
  isWanted: boolean;
  /** The last time that another instance was noticed; `-Infinity`: none was. */
  othersSeenAt: number;
}

/** Relations that wait to be written, and since when. */
interface RelationBacklog {
  readonly waiting: { readonly relation: TaskRelation; readonly since: number }[];
  lost: number;
}

/** The items of the feed that this instance has received. */
interface FeedBacklog {
  /** Numbers of the last item that was written, and of the last one that was received. */
  written: number;
  heard: number;
  /** Since when the oldest unwritten one waits. */
  since: number;
  /** Its arrival by the clock of this instance, milliseconds since 1970; `null`: nothing was received. */
  lastArrival: number | null;
  /** Number of the last chunk that was read. */
  readThrough: number;
  lost: number;
}

/** The whole state of one stored history. */
export interface StoredState {
  readonly options: StoredHistoryOptions;
  /** Identifies this instance: as the holder of the lease, and in the feed. */
  readonly instance: string;
  readonly clock: StoreClock;
  readonly calls: StoreCalls;
  readonly history: MemoryHistory;
  readonly access: MemoryAccess;
  readonly maxEvents: number;
  readonly pace: Pace;
  /** Writes nothing, whatever the source asks for. */
  readonly isReadOnly: boolean;
  session: StoreSession | null;
  /** `null`: the store has not been opened yet. */
  rollups: Rollups | null;
  /** Since when there are counts over time in the store; `null`: there are none, or it is not known. */
  countedSince: Date | null;
  hearing: Hearing;
  readonly lease: LeaseView;
  readonly tasks: TaskBacklog;
  readonly relations: RelationBacklog;
  readonly causes: CauseNotes;
  readonly feed: FeedBacklog;
  readonly texts: TextCopies;
  /** Hostnames of known workers, and whether one of them has changed since it was written. */
  readonly hostnames: Set<string>;
  areWorkersChanged: boolean;
  /** Whether the stored texts were loaded, so that writing them anew loses nothing that others wrote. */
  areTextsKnown: boolean;
  /** Spans that others have covered, by the clock of the database. */
  spans: readonly Span[];
  /** Since when this instance receives everything; `null`: it does not. */
  hearsSince: number | null;
  coverageWrittenAt: number;
  /** Whether memory still lacks what the store has. */
  isLoading: boolean;
  /** Since when the source is disconnected, milliseconds since 1970; `null`: it is not. */
  frozenAt: number | null;
  /** Increases when others may have written something that changes an answer. */
  revision: number;
  batches: number;
  /** Milliseconds since 1970, by the clock of this instance. */
  lastWrite: number | null;
  bytes: number | null;
  /** When old days were last dropped. */
  cleanedAt: number;
  /** Stored tasks that could not be read when memory was filled. */
  unreadable: number;
  hasWarned: boolean;
  /** How much was lost at the last check, and when an increase was found, by the clock of this instance. */
  lostBefore: number;
  lostAt: number | null;
  isClosed: boolean;
}

/** Whether this instance holds the lease now. */
export function isHolder({ lease, clock }: StoredState): boolean {
  return clock.elapsed() < lease.heldUntil;
}

/** Milliseconds since 1970, by the clock of this instance. */
export function ownNow({ clock }: Pick<StoredState, 'clock'>): number {
  return clock.now() - clock.ahead();
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * Whether the clocks of this process and of the database differ by more than a day. One of them is wrong, and nothing is
 * deleted by its age until they agree.
 */
export function areClocksApart({ clock }: Pick<StoredState, 'clock'>): boolean {
  return Math.abs(clock.ahead()) > DAY_MS;
}

/** Whether this instance is to write what it has received. */
export function mayWrite(state: StoredState): boolean {
  if (state.isReadOnly || state.session === null) return false;
  // If nothing is received, only earlier changes can wait.
  return state.hearing !== 'all' || isHolder(state);
}

/** How long an instance noticed through the lease is remembered, in milliseconds. */
const OTHERS_MS = 30_000;

/** Whether another instance that holds the lease, or wants it, was noticed lately. */
export function hasOthers({ lease, clock }: StoredState): boolean {
  return clock.elapsed() - lease.othersSeenAt < OTHERS_MS;
}

/** Whether other instances may write changes that this one does not receive. */
export function isShared(state: StoredState): boolean {
  const { hearing, lease } = state;
  if (hearing !== 'part') return hearing === 'nothing';
  return !lease.isKnown || hasOthers(state);
}

/** Maximum number of causes that are remembered as stored. */
const MOST_KNOWN = 5_000;
/** How far the stored time of the last failure may lag behind, in milliseconds. */
const LATE_MS = 60 * 60_000;

/** The causes to be stored. */
export type CauseNotes = ReturnType<typeof createCauseNotes>;

export function createCauseNotes() {
  const known = createLruCache<Pick<StoredCause, 'firstSeen' | 'lastSeen'>>({ entries: MOST_KNOWN });
  const fresh = new Map<string, StoredCause>();
  return {
    /** A task failed at this time, milliseconds since 1970. */
    add(cause: TaskCause, time: number): void {
      const { firstSeen, lastSeen } = fresh.get(cause.id) ?? known.get(cause.id) ?? NEVER;
      if (time >= firstSeen && time <= lastSeen + (fresh.has(cause.id) ? 0 : LATE_MS)) return;
      if (fresh.size >= MOST_KNOWN && !fresh.has(cause.id)) return;
      const times = { firstSeen: Math.min(firstSeen, time), lastSeen: Math.max(lastSeen, time) };
      fresh.set(cause.id, { ...cause, ...times });
    },
    /** Writes new causes. Rejects with the store's error; the next call tries again. */
    async write(store: CauseStore): Promise<void> {
      if (fresh.size === 0) return;
      const causes = [...fresh.values()];
      await store.note(causes);
      for (const cause of causes) {
        known.set(cause.id, cause);
        if (fresh.get(cause.id) === cause) fresh.delete(cause.id);
      }
    },
  };
}

const NEVER = { firstSeen: Number.POSITIVE_INFINITY, lastSeen: Number.NEGATIVE_INFINITY };

/** Tasks whose stored version is remembered. The others are looked up before they are written again. */
const MOST_VERSIONS = 20_000;

/** The key and version under which a task is stored. `version` 0: it is not. */
interface StoredVersion {
  readonly day: number;
  readonly version: number;
}

/** The waiting tasks. Times as `StoreClock.elapsed`. */
export type TaskBacklog = ReturnType<typeof createTaskBacklog>;

/** @returns an empty backlog */
export function createTaskBacklog() {
  return {
    /** By id: since when the task waits. The oldest come first. Tasks that are being written stay here until they are. */
    changed: new Map(),
    /** Tasks being written that have changed again, and when. */
    again: new Map(),
    /** Tasks being written. */
    writing: new Set(),
    /**
     * By id: what was told of a task since it was last written. If a version is stored that memory does not have, the same
     * is told to that one.
     */
    steps: new Map(),
    /** Tasks of which too much was told since they were last written, or too long ago, to keep it. */
    forgotten: new Set(),
    /** What was told before of tasks that are being written. */
    told: new Map(),
    /**
     * Of tasks in memory that were written or read lately. If memory has dropped a task, later messages contain only a
     * part of it: the stored task must be read before they are written.
     */
    versions: new Map(),
    /** Tasks that were dropped before they could be written, or of which an earlier part was written over. */
    lost: 0,
  };
}

/** A task has changed. */
export function noteChanged({ changed, again, writing }: TaskBacklog, id: string, at: number): void {
  if (!changed.has(id)) changed.set(id, at);
  else if (writing.has(id) && !again.has(id)) again.set(id, at);
}

/** Most tasks, and steps of each, that are kept to be told again; the database may be away for long. */
const MOST_TOLD = { tasks: 20_000, steps: 1_000 };

/** A task was told something. */
export function noteStep({ steps, forgotten }: TaskBacklog, id: string, step: RecordStep): void {
  if (forgotten.has(id)) return;
  const known = steps.get(id);
  if (known === undefined) steps.set(id, [step]);
  else known.push(step);
  if (steps.size <= MOST_TOLD.tasks && (known?.length ?? 0) <= MOST_TOLD.steps) return;
  const [oldest = id] = steps.keys();
  const tooMuch = steps.size > MOST_TOLD.tasks ? oldest : id;
  steps.delete(tooMuch);
  forgotten.add(tooMuch);
}

/** What was told of a task that no stored version is known to have. */
export function stepsOf({ steps, told }: TaskBacklog, id: string): readonly RecordStep[] {
  return [...(told.get(id) ?? []), ...(steps.get(id) ?? [])];
}

/** A task is about to be dropped from memory. One that waits is lost. */
export function noteDropping(backlog: TaskBacklog, id: string): void {
  const { changed, writing, again, versions, steps, forgotten } = backlog;
  versions.delete(id);
  steps.delete(id);
  forgotten.delete(id);
  if (!changed.has(id)) return;
  // The write that is under way may still succeed; if it does not, the next one finds the task lost.
  if (writing.has(id) && !again.has(id)) return;
  lose(backlog, id);
}

/** Removes a task that was written. A task that has changed meanwhile waits again. */
export function settle({ changed, again, forgotten }: TaskBacklog, id: string): void {
  const later = again.get(id);
  changed.delete(id);
  again.delete(id);
  if (later === undefined) forgotten.delete(id);
  else changed.set(id, later);
}

/** Removes a task that can no longer be read. */
export function lose(backlog: TaskBacklog, id: string): void {
  backlog.changed.delete(id);
  backlog.again.delete(id);
  backlog.steps.delete(id);
  backlog.forgotten.delete(id);
  backlog.lost++;
}

/** Remembers under which version a task is stored. */
export function rememberVersion({ versions }: TaskBacklog, id: string, version: StoredVersion): void {
  versions.delete(id);
  versions.set(id, version);
  if (versions.size <= MOST_VERSIONS) return;
  for (const oldest of versions.keys()) {
    versions.delete(oldest);
    return;
  }
}

/** What was told of tasks that could not be written is told again, before what followed. */
export function putBack({ steps, writing, told }: TaskBacklog): void {
  for (const [id, taken] of told) {
    if (taken.length > 0 && writing.has(id)) steps.set(id, [...taken, ...(steps.get(id) ?? [])]);
  }
  told.clear();
}
