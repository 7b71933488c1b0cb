/** The activity feed: the newest items, read from any cursor or moment that is still held. */
import { randomBytes } from 'node:crypto';
import type { TaskEvent } from '../../model.ts';
import { type Redactor, redactEvent } from '../../redact.ts';
import type { Steps } from '../../scheduler.ts';
import type { TaskEventPage, TaskEventQuery } from '../../source.ts';
import type { TaskChangeType } from '../history.ts';
import {
  addItem,
  clearRing,
  createFeedRing,
  eventAt,
  type FeedItem,
  type FeedRing,
  firstSince,
  oldestIn,
} from './feed-ring.ts';

/** Celery's names of the changes. For a custom state that only the result backend reports, Celery sends no event. */
export const FEED_TYPES: Readonly<Record<TaskChangeType, string>> = {
  sent: 'task-sent',
  received: 'task-received',
  started: 'task-started',
  succeeded: 'task-succeeded',
  failed: 'task-failed',
  retried: 'task-retried',
  revoked: 'task-revoked',
  rejected: 'task-rejected',
  requeued: 'task-rejected',
  custom: 'state-changed',
};

/** The feed. */
export interface Feed {
  size(): number;
  /** @param arrivedAt milliseconds, our clock */
  add(item: FeedItem, arrivedAt: number): void;
  /** Notes that items may be missing before the next one. */
  markGap(): void;
  list(query: TaskEventQuery): Steps<TaskEventPage>;
  clear(): void;
}

/** Longest redaction between two pauses, in milliseconds. */
const REDACTION_MS = 1;

/** What pages of the feed are made of. */
interface FeedState {
  readonly ring: FeedRing;
  /** Tells our cursors from those of another process. */
  readonly instance: string;
  readonly startedAt: number;
  readonly nameOf: (taskId: string) => string | null;
  readonly redactor: Redactor | null;
  readonly isFirst: boolean;
  /** Sequence number of the last item before the latest gap; −1: no gap. */
  gapAfter: number;
  gapAt: number;
}

/**
 * @param maxEvents most items held
 * @param now milliseconds
 * @param nameOf name of a task that had none yet when its item was added
 * @param redactor removes secrets from details when they are first listed; `null`: they stay as they are
 * @param isFirst whether nothing has happened before the first item
 */
export function createFeed(
  maxEvents: number,
  now: () => number,
  nameOf: (taskId: string) => string | null,
  redactor: Redactor | null,
  isFirst = false,
): Feed {
  const ring = createFeedRing(maxEvents);
  const state: FeedState = {
    ring,
    instance: randomBytes(6).toString('hex'),
    startedAt: now(),
    nameOf,
    redactor,
    isFirst,
    gapAfter: -1,
    gapAt: Number.NEGATIVE_INFINITY,
  };
  return {
    size: () => ring.size,
    add: (item, arrivedAt) => addItem(ring, item, arrivedAt),
    markGap() {
      state.gapAfter = ring.newest;
      state.gapAt = now();
    },
    list: (query) => (query.since === null ? listNewest(state, query) : listSince(state, query, query.since)),
    clear: () => clearRing(ring),
  };
}

/**
 * A page that is not full ends where this instance begins: items before that, or dropped since, are missing in it.
 * So a reader that polls without a cursor notices a restart.
 */
function listNewest(state: FeedState, query: TaskEventQuery): Steps<TaskEventPage> {
  const { ring, isFirst, gapAfter } = state;
  const found: number[] = [];
  for (let sequence = ring.newest; sequence >= oldestIn(ring) && found.length < query.limit; sequence--) {
    if (matches(state, sequence, query)) found.push(sequence);
  }
  const isWhole = isFirst && oldestIn(ring) === 1;
  const isFull = found.length >= query.limit;
  const gap = isFull ? gapAfter >= (found.at(-1) ?? 0) : !isWhole || gapAfter >= 0;
  return pageOf(state, found, ring.newest, gap);
}

/** Reads on, oldest first: what does not fit into the page comes with the next. */
function listSince(
  state: FeedState,
  query: TaskEventQuery,
  since: NonNullable<TaskEventQuery['since']>,
): Steps<TaskEventPage> {
  const { ring } = state;
  const { after, gap } = 'cursor' in since ? afterCursor(state, since.cursor) : afterTime(state, since.time);
  const found: number[] = [];
  for (let sequence = after + 1; sequence <= ring.newest && found.length < query.limit; sequence++) {
    if (matches(state, sequence, query)) found.push(sequence);
  }
  const last = found.at(-1) ?? after;
  return pageOf(state, found.reverse(), last, gap);
}

/** Where a reader goes on, and whether items before that are missing. */
interface FeedPosition {
  /** Sequence number of the last item that the reader has. */
  readonly after: number;
  readonly gap: boolean;
}

function afterCursor(state: FeedState, cursor: string): FeedPosition {
  const start = oldestIn(state.ring) - 1;
  const sequence = sequenceOf(state, cursor);
  if (sequence === null || sequence < start) return { after: start, gap: true };
  return { after: sequence, gap: state.gapAfter >= sequence };
}

function afterTime({ ring, startedAt, gapAt }: FeedState, moment: Date): FeedPosition {
  const time = moment.getTime();
  const oldest = oldestIn(ring);
  const first = firstSince(ring, time);
  const isLost = first === oldest && oldest > 1;
  return { after: first - 1, gap: isLost || time < startedAt || gapAt >= time };
}

function cursorOf({ instance }: FeedState, sequence: number): string {
  return `${instance}.${sequence}`;
}

/** The sequence number of a cursor; `null` when it is not one of ours. */
function sequenceOf({ instance, ring }: FeedState, cursor: string): number | null {
  const [issuer, digits] = cursor.split('.');
  const sequence = Number(digits);
  const isOurs = issuer === instance && Number.isInteger(sequence) && sequence >= 0;
  return isOurs && sequence <= ring.newest ? sequence : null;
}

function taskOf({ ring, nameOf }: FeedState, sequence: number): string | null {
  const at = sequence % ring.capacity;
  const id = ring.taskIds[at] ?? null;
  return ring.tasks[at] ?? (id === null ? null : nameOf(id));
}

function matches(state: FeedState, sequence: number, { states, workers, tasks }: TaskEventQuery): boolean {
  const { ring } = state;
  const at = sequence % ring.capacity;
  return (
    isAmong(states, ring.states[at]) &&
    isAmong(workers, ring.workers[at]) &&
    (tasks.length === 0 || isAmong(tasks, taskOf(state, sequence)))
  );
}

function isAmong(values: readonly string[], value: string | null | undefined): boolean {
  return values.length === 0 || (value != null && values.includes(value));
}

/** @param last sequence number where the next page goes on */
function* pageOf(
  state: FeedState,
  found: readonly number[],
  last: number,
  gap: boolean,
): Steps<TaskEventPage> {
  // Read at once, since items may be dropped while the work pauses.
  const events = found.map((sequence) =>
    eventAt(state.ring, sequence, cursorOf(state, sequence), taskOf(state, sequence)),
  );
  if (state.redactor !== null) yield* redactAll(state, found, events, state.redactor);
  return { events, cursor: cursorOf(state, last), gap };
}

/** Redacts events in place, and in the ring, so that each detail is redacted once. */
function* redactAll(
  { ring }: FeedState,
  found: readonly number[],
  events: TaskEvent[],
  redactor: Redactor,
): Steps<void> {
  let pauseAt = performance.now() + REDACTION_MS;
  for (const [at, sequence] of found.entries()) {
    const event = events[at] as TaskEvent;
    const slot = sequence % ring.capacity;
    const isHeld = sequence >= oldestIn(ring);
    if (isHeld && ring.redacted[slot] === true) {
      events[at] = { ...event, detail: ring.details[slot] ?? null, redacted: true };
      continue;
    }
    const shown = redactEvent(event, redactor);
    events[at] = shown;
    if (isHeld) {
      ring.details[slot] = shown.detail ?? null;
      ring.redacted[slot] = true;
    }
    if (performance.now() < pauseAt) continue;
    yield;
    pauseAt = performance.now() + REDACTION_MS;
  }
}
