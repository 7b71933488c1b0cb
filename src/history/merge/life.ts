/**
 * What is true of a task now. It depends on the set of its entries alone, not on their order of arrival:
 * messages of clients, workers and the backend overtake each other all the time.
 *
 * Celery's own reducer (celery.events.state) ranks states over the task's whole life, so that a custom
 * state hides REVOKED, and a second run stays SUCCESS. Here states are ranked within one run only: a late
 * `started` never reopens a run that has ended, and a new run begins again.
 */
import { currentRun, decidingEntry, repeatIn, runsOf, startedEntry } from './attempts.ts';
import { compareTime, type Run, type TaskRuns } from './attribution.ts';
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
  /** `engine`: as reported; `derived`: from start to end; `null`: there is no run time. */
  readonly runtimeSource: 'engine' | 'derived' | null;
  /** The highest number of an attempt that any message carried. */
  readonly retries: number | null;
  /** The number of the current attempt, reported or counted. */
  readonly attempt: number;
  /** It waits for a retry that a worker has already received. */
  readonly isHeld: boolean;
  /** The message of the current attempt is known, so the eta of the record is that of this attempt. */
  readonly isOpened: boolean;
  /** Since when it waited for its last start if it had no eta: when it was sent, or else received. */
  readonly waitedSince: number | null;
  /** One of its attempts ran more than once. */
  readonly ranTwice: boolean;
}

/** @param runtime in seconds, as last reported */
export function lifeOf(entries: readonly TaskEntry[], runtime: number | null): TaskLife {
  const sent = sentOf(entries);
  const known = runsOf(entries);
  const current = currentRun(known.runs);
  if (current === null) return waitingLife(sent, known, entries);
  const top = decidingEntry(current);
  const isNext = known.attempt > current.attempt && !hasEnded(top.kind);
  const isHeld = !isNext && top.kind === 'received' && current.attempt > 0;
  if (isNext || isHeld) return retryLife(sent, known, current, isHeld, entries);
  const lastChange = Math.floor(top.time);
  const finished = hasEnded(top.kind) && top.timeSource !== 'reading' ? lastChange : null;
  const started = startedAt(current, finished);
  const reported = hasEnded(top.kind) ? runtime : null;
  const derived = reported === null ? derivedRuntime(current, top) : null;
  return {
    kind: top.kind,
    state: stateOf(top),
    timestamp: lastChange,
    worker: top.worker ?? current.received?.worker ?? lastWorker(current),
    sent: sent.last,
    received: current.received === null ? null : Math.floor(current.received.time),
    started,
    finished,
    runtime: reported ?? derived,
    runtimeSource: reported !== null ? 'engine' : derived !== null ? 'derived' : null,
    retries: highestRetries(entries),
    attempt: known.attempt,
    isHeld: false,
    isOpened: true,
    waitedSince: waitingSince(sent, current),
    ranTwice: repeatIn(known, entries) !== null,
  };
}

/** No worker has reported anything. */
function waitingLife(sent: Sent, { attempt }: TaskRuns, entries: readonly TaskEntry[]): TaskLife {
  const kind = attempt > 0 ? 'retried' : 'sent';
  return {
    kind,
    state: STATE_OF_KIND[kind],
    timestamp: sent.last,
    worker: null,
    sent: sent.last,
    received: null,
    started: null,
    finished: null,
    runtime: null,
    runtimeSource: null,
    retries: highestRetries(entries),
    attempt,
    isHeld: false,
    isOpened: true,
    waitedSince: null,
    ranTwice: false,
  };
}

/**
 * An attempt has ended and the next one has not started.
 *
 * @param isHeld whether a worker has received the next one, which is the current run then
 */
function retryLife(
  sent: Sent,
  { runs, attempt }: TaskRuns,
  current: Run,
  isHeld: boolean,
  entries: readonly TaskEntry[],
): TaskLife {
  const top = decidingEntry(current);
  let timestamp = Math.floor(top.time);
  for (const run of runs) {
    if (run.attempt !== attempt - 1) continue;
    const { kind, time } = decidingEntry(run);
    if (kind === 'retried') timestamp = Math.max(timestamp, Math.floor(time));
  }
  if (sent.retries === attempt && sent.time !== null) timestamp = Math.max(timestamp, sent.time);
  return {
    kind: 'retried',
    state: STATE_OF_KIND.retried,
    timestamp,
    worker: top.worker ?? current.received?.worker ?? lastWorker(current),
    sent: sent.last,
    received: current.received === null ? null : Math.floor(current.received.time),
    started: isHeld ? null : startedAt(current, null),
    finished: null,
    runtime: null,
    runtimeSource: null,
    retries: highestRetries(entries),
    attempt,
    isHeld,
    isOpened: isHeld || sent.retries === attempt,
    waitedSince: null,
    ranTwice: repeatIn({ runs, attempt }, entries) !== null,
  };
}

/** When each attempt ended that was retried, in the order of attempts; in milliseconds since 1970. */
export function retriesIn(entries: readonly TaskEntry[]): readonly number[] {
  if (!entries.some(({ kind }) => kind === 'retried')) return NEVER;
  return runsOf(entries).runs.flatMap((run) => {
    const top = decidingEntry(run);
    return top.kind === 'retried' && top.timeSource !== 'reading' ? [Math.floor(top.time)] : [];
  });
}

const NEVER: readonly number[] = [];

function hasEnded(kind: EntryKind): boolean {
  return kind === 'revoking' || KIND_ORDER[kind] >= KIND_ORDER.revoked;
}

/** The backend's STARTED has only a time of arrival, which counts as long as nothing contradicts it. */
function startedAt(run: Run, finished: number | null): number | null {
  const started = startedEntry(run);
  if (started === null || started.timeSource === 'reading') return null;
  const isTimely = started.timeSource === 'sender' || finished === null || started.time <= finished;
  return isTimely ? Math.floor(started.time) : null;
}

/** Seconds from start to end by the clock of the worker; `null` where it did not report both. */
function derivedRuntime(run: Run, end: TaskEntry): number | null {
  if (end.kind === 'revoking' || !hasEnded(end.kind) || end.timeSource !== 'sender') return null;
  const started = startedEntry(run);
  if (started === null || started.timeSource !== 'sender' || started.time > end.time) return null;
  // Whole milliseconds, as the times are shown.
  return (Math.floor(end.time) - Math.floor(started.time)) / 1_000;
}

function lastWorker({ entries }: Run): string | null {
  let last: TaskEntry | null = null;
  for (const entry of entries) {
    if (entry.worker !== null && (last === null || compareTime(last, entry) < 0)) last = entry;
  }
  return last?.worker ?? null;
}

function highestRetries(entries: readonly TaskEntry[]): number | null {
  let highest: number | null = null;
  for (const { retries, isCounted } of entries) {
    if (retries !== null && !isCounted && (highest === null || retries > highest)) highest = retries;
  }
  return highest;
}

/** What is known about the messages that were sent for a task. Times in whole milliseconds since 1970. */
export interface Sent {
  /** When the last one was sent; `null`: unknown. */
  readonly last: number | null;
  /** The highest attempt for which one was sent; −1: unknown. */
  readonly retries: number;
  /** When the last one for that attempt was sent; `null`: it was only found in its queue. */
  readonly time: number | null;
}

/** @returns what the entries of a task show about its messages */
function sentOf(entries: readonly TaskEntry[]): Sent {
  let last: number | null = null;
  let retries = -1;
  let time: number | null = null;
  for (const entry of entries) {
    if (entry.kind !== 'sent') continue;
    const attempt = entry.retries ?? -1;
    const sentAt = entry.timeSource === 'reading' ? null : Math.floor(entry.time);
    if (attempt > retries) {
      retries = attempt;
      time = sentAt;
    } else if (attempt === retries && sentAt !== null && (time === null || sentAt > time)) time = sentAt;
    if (sentAt !== null && (last === null || sentAt > last)) last = sentAt;
  }
  return { last, retries, time };
}

/**
 * @param run the run that the task waited for
 * @returns when the message of its attempt was sent, else when it was received; `null`: unknown
 */
function waitingSince(sent: Sent, { attempt, received }: Run): number | null {
  if (sent.time !== null && Math.max(0, sent.retries) === attempt) return sent.time;
  return received === null ? null : Math.floor(received.time);
}
