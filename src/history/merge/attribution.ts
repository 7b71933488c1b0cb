/**
 * Decides which message belongs to which run of a task, from the set of its messages alone and not from their
 * order of arrival.
 *
 * Only `sent`, `received` and some results carry the number of their attempt. The others must be counted,
 * because the attempts of a task overlap in what Celery reports: a worker receives and starts the next
 * attempt before it reports that the previous one is retried. What always holds:
 * - if attempt n + 1 is known, attempt n ended in a retry, whether that was reported or not
 * - the n-th `retried` belongs to attempt n, and so does the n-th `started` as long as none was lost
 * - a worker starts a run after it received it, and reports its retry after its start
 * - the end belongs to the highest attempt
 */
import type { TaskEntry } from './record.ts';

/** The attributions so far. */
interface Attribution {
  /** By attempt, then by time; those whose `received` was missed come before the others of their attempt. */
  readonly runs: OpenRun[];
  /** The highest attempt that is known. */
  readonly attempt: number;
  /** When each attempt was retried, by its number; absent if unknown. */
  readonly retriedAt: Map<number, number>;
  /** Attempts whose retry only the backend has reported, perhaps before the worker reported the start. */
  readonly retriedAtBackend: Set<number>;
}

/**
 * Maximum delay of the report of a start, counted from when the next attempt was received or the retry was stored, in
 * milliseconds.
 */
const MAX_OVERLAP_MS = 1_000;

/** Attributes all entries of a task. */
export function attributeEntries(entries: readonly TaskEntry[]): TaskRuns {
  const events = entries
    .filter(({ origin, kind }) => origin === 'event' && kind !== 'sent')
    .sort(compareTime);
  const retries = events.filter(({ kind, retries: number }) => kind === 'retried' && number === null);
  const runs = receivedRuns(events, retries);
  const attempt = highestAttempt(entries, runs, retries);
  const state: Attribution = { runs, attempt, retriedAt: new Map(), retriedAtBackend: new Set() };
  attributeRetries(state, retries, entries);
  for (const event of events) {
    const run = runOfEvent(state, event);
    if (run !== null) run.entries.push(event);
  }
  const shift = shiftOf(state, entries);
  for (const result of entries) {
    if (result.origin === 'result' && result.kind !== 'sent')
      runOfResult(state, result, shift).entries.push(result);
  }
  return { runs: runs.filter((run) => run.entries.length > 0), attempt };
}

/** By time; of one moment by worker, so that no order depends on which message came first. */
export function compareTime(a: TaskEntry, b: TaskEntry): number {
  return a.time - b.time || ((a.worker ?? '') < (b.worker ?? '') ? -1 : 1);
}

/** A run for each `received`; where it has no number, the retries before it are counted. */
function receivedRuns(events: readonly TaskEntry[], retries: readonly TaskEntry[]): OpenRun[] {
  const runs: OpenRun[] = [];
  for (const received of events) {
    if (received.kind !== 'received') continue;
    const attempt = received.retries ?? retries.filter(({ time }) => time <= received.time).length;
    runs.push({ received, attempt, entries: [] });
  }
  return runs.sort((a, b) => a.attempt - b.attempt);
}

/** Whether the worker of an event had received this run by then. */
function isReceivedBefore({ received }: OpenRun, { time, worker }: TaskEntry): boolean {
  if (received === null || received.time > time) return false;
  return worker === null || received.worker === worker;
}

/** From the last to the first, since a monitor usually misses the first ones. */
function attributeRetries(
  state: Attribution,
  retries: readonly TaskEntry[],
  entries: readonly TaskEntry[],
): void {
  const { runs, attempt, retriedAt, retriedAtBackend } = state;
  let next = attempt - 1;
  for (const event of retries.toReversed()) {
    let number = next;
    while (
      number > 0 &&
      runs.some((run) => run.attempt === number) &&
      ownRun(state, event, number) === null
    ) {
      number -= 1;
    }
    number = Math.max(0, number);
    (ownRun(state, event, number) ?? anyRun(state, event, number)).entries.push(event);
    if (!retriedAt.has(number)) retriedAt.set(number, event.time);
    next = number - 1;
  }
  for (const { kind, retries: number, time, origin } of entries) {
    if (kind !== 'retried' || number === null || retriedAt.has(number)) continue;
    retriedAt.set(number, time);
    if (origin === 'result') retriedAtBackend.add(number);
  }
}

/** @returns the run; `null` for a retry that has been attributed */
function runOfEvent(state: Attribution, event: TaskEntry): OpenRun | null {
  const { kind, retries } = event;
  if (kind === 'received') return state.runs.find(({ received }) => received === event) ?? null;
  if (retries !== null) return ownRun(state, event, retries) ?? anyRun(state, event, retries);
  if (kind === 'retried') return null;
  if (kind === 'started') return runOfStart(state, event);
  return kind === 'custom' ? runOfProgress(state, event) : runOfEnd(state, event);
}

/** The first run that its worker had received, that was not over by then, and that has no start yet. */
function runOfStart(state: Attribution, event: TaskEntry): OpenRun {
  const { runs } = state;
  let open: OpenRun | null = null;
  for (const [at, run] of runs.entries()) {
    if (!isReceivedBefore(run, event) || isOver(state, at, event)) continue;
    const next = runs[at + 1];
    // Of an attempt that was delivered again, the last delivery runs.
    if (next?.attempt === run.attempt && isReceivedBefore(next, event)) continue;
    if (!run.entries.some(({ kind }) => kind === 'started')) return run;
    open = run;
  }
  return laterRun(state, event, open);
}

/** The last run that its worker had received and that was not over by then: a task reports immediately. */
function runOfProgress(state: Attribution, event: TaskEntry): OpenRun {
  const open = state.runs.findLast(
    (run) => isReceivedBefore(run, event) && !isRetriedBefore(state, run, event),
  );
  return laterRun(state, event, open ?? null);
}

/**
 * The run of an event that none of its worker's runs was waiting for.
 *
 * @param open the last run of its worker that was not over by then
 */
function laterRun(state: Attribution, event: TaskEntry, open: OpenRun | null): OpenRun {
  const { runs, attempt, retriedAt } = state;
  let number = attempt;
  for (const time of retriedAt.values()) if (time > event.time) number -= 1;
  number = Math.max(0, number);
  return open !== null && isReceived(runs, number) ? open : anyRun(state, event, number);
}

/**
 * The highest attempt. A lower one only where another worker has the highest, or where the lower one was delivered again
 * afterwards or another run of it was retried, and where the lower one was not retried before.
 */
function runOfEnd(state: Attribution, event: TaskEntry): OpenRun {
  const { runs, attempt } = state;
  const own = ownRun(state, event, attempt);
  if (own !== null) return own;
  const older = runs.findLast((run) => isReceivedBefore(run, event) && !isRetriedBefore(state, run, event));
  const isItsOwn = (run: OpenRun): boolean =>
    isReceived(runs, attempt) || isDeliveredAgain(runs, run, event) || isRetriedElsewhere(runs, run);
  if (older !== undefined && isItsOwn(older)) return older;
  return anyRun(state, event, attempt);
}

/** Whether an attempt was received once more after an event. */
function isDeliveredAgain(runs: readonly OpenRun[], { attempt }: OpenRun, { time }: TaskEntry): boolean {
  return runs.some((run) => run.attempt === attempt && run.received !== null && run.received.time > time);
}

/** Whether another run of the same attempt was retried, and not this one. */
function isRetriedElsewhere(runs: readonly OpenRun[], run: OpenRun): boolean {
  return !isRetried(run) && runs.some((other) => other.attempt === run.attempt && isRetried(other));
}

export function isRetried({ entries }: Run): boolean {
  return entries.some(({ kind }) => kind === 'retried');
}

/** Whether a worker is known to have received this attempt. */
function isReceived(runs: readonly OpenRun[], attempt: number): boolean {
  return runs.some((run) => run.attempt === attempt && run.received !== null);
}

/** Whether the run at a position cannot have started any more. */
function isOver(state: Attribution, at: number, event: TaskEntry): boolean {
  const { runs } = state;
  const run = runs[at] as OpenRun;
  if (isRetriedBefore(state, run, event)) return !isReportedLate(state, run, event);
  let next = at + 1;
  while (next < runs.length && (runs[next]?.attempt === run.attempt || runs[next]?.received === null)) next++;
  const received = runs[next]?.received;
  if (received == null || received.worker !== event.worker) return false;
  return event.time > received.time + MAX_OVERLAP_MS;
}

/**
 * Whether a start may be that of a run whose retry was stored before: the child process stores the retry itself, while
 * its worker has yet to report the start. Once the worker has received the next attempt, it may be that one's.
 */
function isReportedLate(
  { runs, retriedAt, retriedAtBackend }: Attribution,
  run: OpenRun,
  event: TaskEntry,
): boolean {
  if (!retriedAtBackend.has(run.attempt)) return false;
  if (event.time > (retriedAt.get(run.attempt) ?? 0) + MAX_OVERLAP_MS) return false;
  return !runs.some((later) => later.attempt > run.attempt && isReceivedBefore(later, event));
}

function isRetriedBefore({ retriedAt }: Attribution, { attempt }: OpenRun, { time }: TaskEntry): boolean {
  return time > (retriedAt.get(attempt) ?? Number.POSITIVE_INFINITY);
}

/** The last run of an attempt that the worker of an event had received by then. */
function ownRun({ runs }: Attribution, event: TaskEntry, attempt: number): OpenRun | null {
  return runs.findLast((run) => run.attempt === attempt && isReceivedBefore(run, event)) ?? null;
}

/** The last run of an attempt that any worker had received by then, else the one whose `received` was missed. */
function anyRun(state: Attribution, { time }: TaskEntry, attempt: number): OpenRun {
  const known = state.runs.findLast(
    ({ attempt: number, received }) => number === attempt && received !== null && received.time <= time,
  );
  return known ?? unseenRun(state, attempt);
}

/** The run of an attempt whose `received` was missed. */
function unseenRun({ runs }: Attribution, attempt: number): OpenRun {
  const known = runs.find((run) => run.attempt === attempt && run.received === null);
  if (known !== undefined) return known;
  const opened: OpenRun = { received: null, attempt, entries: [] };
  const at = runs.findIndex((run) => run.attempt >= attempt);
  runs.splice(at < 0 ? runs.length : at, 0, opened);
  return opened;
}

/**
 * By how much the counted numbers of results are too low. The results of the first attempts were missed if fewer
 * retries were counted than the attempt that runs now has had.
 */
function shiftOf({ runs, attempt }: Attribution, entries: readonly TaskEntry[]): number {
  let counted = -1;
  let isNumbered = false;
  for (const { kind, retries, isCounted } of entries) {
    if (retries === null) continue;
    if (!isCounted) isNumbered = true;
    else counted = Math.max(counted, kind === 'retried' ? retries + 1 : retries);
  }
  if (counted < 0 || !isNumbered) return 0;
  const hasBegun = runs.some(
    (run) => run.attempt === attempt && run.entries.some(({ kind }) => kind !== 'received'),
  );
  return Math.max(0, (hasBegun ? attempt : attempt - 1) - counted);
}

function runOfResult(state: Attribution, result: TaskEntry, shift: number): OpenRun {
  const { runs, attempt } = state;
  const { retries, isCounted, time, worker, timeSource } = result;
  const isDated = timeSource === 'sender';
  // The backend dates only the end, and the end belongs to the highest attempt.
  const number = retries === null || (isCounted && isDated) ? attempt : isCounted ? retries + shift : retries;
  const received = runs.filter((run) => run.attempt === number && run.received !== null);
  const before = received.filter((run) => (run.received as TaskEntry).time <= time);
  const own = before.filter((run) => worker === null || run.received?.worker === worker);
  const match = isDated ? undefined : (own.findLast((run) => isReportedIn(run, result)) ?? own.at(-1));
  return match ?? before.at(-1) ?? received[0] ?? unseenRun(state, number);
}

/** Whether an event of this run reports the same change. */
function isReportedIn({ entries }: OpenRun, { kind, state }: TaskEntry): boolean {
  return entries.some((other) => other.origin === 'event' && other.kind === kind && other.state === state);
}

/** One run of an attempt, from the moment a worker received it. */
export interface Run {
  /** The message that opened it; `null` where that was missed, or where no worker sends events. */
  readonly received: TaskEntry | null;
  /** The number of its attempt, 0 for the first. */
  readonly attempt: number;
  /** All messages about it, except `sent` messages, which cause it. */
  readonly entries: readonly TaskEntry[];
}

/** A run whose entries are being attributed. */
export interface OpenRun extends Run {
  readonly entries: TaskEntry[];
}

/** All runs of a task. */
export interface TaskRuns {
  /** By attempt, then by time. */
  readonly runs: readonly Run[];
  /** The highest number of an attempt that is known, whether it has run or not. */
  readonly attempt: number;
}

/** Maximum delay of the report of a retry after the next attempt has started, in milliseconds. */
const MAX_DELAY_MS = 10_000;

/**
 * @param entries of the task
 * @param runs one for each `received`
 * @param retries the `retried` events without a number, by time
 */
function highestAttempt(
  entries: readonly TaskEntry[],
  runs: readonly OpenRun[],
  retries: readonly TaskEntry[],
): number {
  let attempt = runs.at(-1)?.attempt ?? 0;
  for (const { kind, retries: number } of entries) {
    if (number !== null) attempt = Math.max(attempt, kind === 'retried' ? number + 1 : number);
  }
  const seen = runs.filter((run) => run.attempt < attempt);
  // One for each run of an earlier attempt, and for each earlier attempt without messages.
  const earlier = seen.length + attempt - new Set(seen.map((run) => run.attempt)).size;
  const first = retries[earlier];
  if (first !== undefined) return mayEnd(runs, attempt, first) ? attempt + retries.length - earlier : attempt;
  // The retry of an attempt without messages was probably missed, too.
  const delay = retries.length > seen.length ? 0 : MAX_DELAY_MS;
  return isEnded(entries, runs, attempt, retries.at(-1), delay) ? attempt + 1 : attempt;
}

/** Whether this retry may be that of the attempt. */
function mayEnd(runs: readonly OpenRun[], attempt: number, { time, worker }: TaskEntry): boolean {
  const own = runs.filter((run) => run.attempt === attempt);
  return own.length === 0 || own.some(({ received }) => isBefore(received, time, worker));
}

function isBefore(received: TaskEntry | null, time: number, worker: string | null): boolean {
  return received !== null && received.time <= time && (worker === null || received.worker === worker);
}

/** Whether the last retry came so long after the start of this attempt that it is its own. */
function isEnded(
  entries: readonly TaskEntry[],
  runs: readonly OpenRun[],
  attempt: number,
  last: TaskEntry | undefined,
  delay: number,
): boolean {
  if (last === undefined) return false;
  const run = runs.findLast(
    (own) => own.attempt === attempt && isBefore(own.received, last.time, last.worker),
  );
  const since = run?.received?.time;
  if (since === undefined) return false;
  return entries.some(
    ({ kind, origin, time, worker }) =>
      kind === 'started' &&
      origin === 'event' &&
      worker === last.worker &&
      time >= since &&
      time + delay < last.time,
  );
}
