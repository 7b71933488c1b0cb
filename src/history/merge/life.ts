/**
 * What is true of a task now. It depends on the set of its entries alone, not on their order of arrival:
 * messages of clients, workers and the backend overtake each other all the time.
 *
 * Celery's own reducer (celery.events.state) ranks states over the task's whole life, so that a custom
 * state hides REVOKED, and a second run stays SUCCESS. Here states are ranked within one attempt only:
 * a late `started` never reopens an attempt that has ended, and a new attempt begins again.
 */
import { type Attempt, attemptsOf, currentAttempt, decidingEntry, startedEntry } from './attempts.ts';
import { type EntryKind, KIND_ORDER, STATE_OF_KIND, stateOf, type TaskEntry } from './record.ts';

/** State, worker and times of a task. Times in whole milliseconds since 1970; `null`: unknown. */
export interface TaskLife {
  readonly kind: EntryKind;
  readonly state: string;
  /** Of the last change. Within one millisecond, lists are ordered by id. */
  readonly timestamp: number | null;
  readonly worker: string | null;
  readonly sent: number | null;
  readonly received: number | null;
  readonly started: number | null;
  readonly finished: number | null;
  /** Seconds. */
  readonly runtime: number | null;
  readonly retries: number | null;
}

/** What is known of the messages that were sent for a task. */
interface Sent {
  /** Of the last one; `null`: unknown. */
  readonly time: number | null;
  /** Of the highest attempt; −1: unknown. */
  readonly retries: number;
  /** The message for that attempt was only found in its queue. */
  readonly isVague: boolean;
}

/** @param runtime in seconds, as last reported */
export function lifeOf(entries: readonly TaskEntry[], runtime: number | null): TaskLife {
  const sent = sentOf(entries);
  const current = currentAttempt(attemptsOf(entries));
  if (current === null) return waitingLife(sent, entries);
  const { received, retries } = current;
  const top = decidingEntry(current);
  const lastChange = Math.floor(top.time);
  // It was sent again, and the message that ended this attempt was missed.
  const isRetried = isUnfinished(top.kind) && sent.retries > Math.max(0, retries);
  const finished = hasEnded(top.kind) && top.timeSource !== 'reading' ? lastChange : null;
  return {
    kind: isRetried ? 'retried' : top.kind,
    state: isRetried ? STATE_OF_KIND.retried : stateOf(top),
    timestamp: isRetried && !sent.isVague ? sent.time : lastChange,
    worker: top.worker ?? received?.worker ?? lastWorker(current),
    sent: sent.time,
    received: received === null ? null : Math.floor(received.time),
    started: startedAt(current, finished),
    finished,
    // One that an earlier attempt reported is not of this one.
    runtime: top.kind === 'succeeded' ? runtime : null,
    retries: highestRetries(entries),
  };
}

/** No worker has reported anything. */
function waitingLife(sent: Sent, entries: readonly TaskEntry[]): TaskLife {
  return {
    kind: 'sent',
    state: STATE_OF_KIND.sent,
    timestamp: sent.time,
    worker: null,
    sent: sent.time,
    received: null,
    started: null,
    finished: null,
    runtime: null,
    retries: highestRetries(entries),
  };
}

function sentOf(entries: readonly TaskEntry[]): Sent {
  let time: number | null = null;
  let retries = -1;
  let isVague = false;
  for (const entry of entries) {
    if (entry.kind !== 'sent') continue;
    const attempt = entry.retries ?? -1;
    const isFound = entry.timeSource === 'reading';
    if (attempt > retries) {
      retries = attempt;
      isVague = isFound;
    } else if (attempt === retries && !isFound) isVague = false;
    if (!isFound && (time === null || entry.time > time)) time = entry.time;
  }
  return { time: time === null ? null : Math.floor(time), retries, isVague };
}

/** When each attempt ended that was retried, in the order of attempts; in milliseconds since 1970. */
export function retriesIn(entries: readonly TaskEntry[]): readonly number[] {
  if (!entries.some(({ kind }) => kind === 'retried')) return NEVER;
  return attemptsOf(entries).flatMap((attempt) => {
    const top = decidingEntry(attempt);
    return top.kind === 'retried' && top.timeSource !== 'reading' ? [Math.floor(top.time)] : [];
  });
}

const NEVER: readonly number[] = [];

/** Whether neither an end nor a retry of the attempt is known. */
function isUnfinished(kind: EntryKind): boolean {
  return kind !== 'revoking' && KIND_ORDER[kind] < KIND_ORDER.retried;
}

function hasEnded(kind: EntryKind): boolean {
  return kind === 'revoking' || KIND_ORDER[kind] >= KIND_ORDER.revoked;
}

/** The backend's STARTED has only a time of arrival, which counts as long as nothing contradicts it. */
function startedAt(attempt: Attempt, finished: number | null): number | null {
  const started = startedEntry(attempt);
  if (started === null || started.timeSource === 'reading') return null;
  const isTimely = started.timeSource === 'sender' || finished === null || started.time <= finished;
  return isTimely ? Math.floor(started.time) : null;
}

function lastWorker({ entries }: Attempt): string | null {
  let last: TaskEntry | null = null;
  for (const entry of entries) {
    if (entry.worker !== null && (last === null || entry.time > last.time)) last = entry;
  }
  return last?.worker ?? null;
}

function highestRetries(entries: readonly TaskEntry[]): number | null {
  let highest: number | null = null;
  for (const { retries } of entries) {
    if (retries !== null && (highest === null || retries > highest)) highest = retries;
  }
  return highest;
}
