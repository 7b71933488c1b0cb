/** Collects the evidence for hints: a few counters, updated with each message. */

import type { TaskChange, WorkerChange } from '../../../history/history.ts';
import { turnNow } from '../../../scheduler.ts';
import { recordOf } from '../../../values.ts';
import type { QueueCounts } from '../broker.ts';
import type { Problem } from '../hint.ts';

/** Longest id or name that is remembered, in characters. */
const LONGEST = 512;
/** Most workers to remember. If there are more, the oldest is forgotten. */
const MOST_WORKERS = 1000;
/** A sender's clock that differs from ours by more than this is wrong. Milliseconds. */
const SKEW_MS = 60_000;
/** A worker that comes online again within this time has not run. Milliseconds. */
const AGAIN_MS = 60_000;
/** Events of a thread pool may be a second late. Milliseconds. */
const LATE_MS = 5_000;
/** Least time between two heartbeats whose counts are kept. Milliseconds. */
const BETWEEN_MS = 1_000;
/** How long a worker that held a message for long is mentioned. Milliseconds. */
export const HELD_MS = 3_600_000;
/** Tasks received within this time after we connected may have been sent before. Milliseconds. */
const WARM_UP = 60_000;

/** Receives everything that arrives. Nothing here throws or waits. */
export type Observer = ReturnType<typeof createObserver>;

export function createObserver() {
  const state = newState();
  return {
    /** A change of a task from any sender. Call it together with the history's `recordTask`. */
    task(change: TaskChange) {
      if (change.origin === 'event') takeEvent(state, change, turnNow());
      else takeResult(state, change, turnNow());
    },
    /** A message of a worker about itself. Call it together with `recordWorker`. */
    worker: (change: WorkerChange) => takeWorker(state, change, turnNow()),
    /**
     * A message that could not be read.
     *
     * @param message of a result, the whole message; of an event, its content type, empty when it names
     *   none. Broken JSON is counted elsewhere, since no setting repairs it
     */
    unreadable: (kind: MessageKind, message: string) => takeUnreadable(state, kind, message, turnNow()),
    /** Replies of workers by hostname; `null` for a reply that could not be read. */
    replies: (replies: { readonly values: ReadonlyMap<string, unknown>; readonly unreadable: number }) =>
      takeReplies(state, replies, turnNow()),
    /** A connection is up, perhaps again. Counts that missed messages would falsify start again. */
    connected: (server: 'broker' | 'backend') => startAgain(state, server, turnNow()),
    /** The depths of the known queues. Call it whenever they were read. */
    queues: (depths: readonly QueueCounts[]) => takeQueues(state, depths, turnNow()),
    facts: (): Facts => state,
  };
}

/** The kinds of messages that may use another serializer than JSON. */
type MessageKind = 'event' | 'result';

/** A name of tasks, for how long a worker held the message of one of them, and when that was noticed. */
interface HeldFor {
  readonly name: string | null;
  readonly ms: number;
  readonly at: number;
}

/** What is wrong with each area; `null`: nothing is known to be. `broker`: it accepts no writes. */
export type AccessProblems = Readonly<
  Record<'broker' | 'results' | 'queues' | 'schedules' | 'control', Problem | null>
>;

/** Everything that was observed. Times in milliseconds since 1970, by our clock. */
export type Facts = Readonly<State>;

type State = ReturnType<typeof newState>;

function newState() {
  return {
    workers: new Map<string, WorkerFacts>(),
    /** By hostname, how often it came online, each time within a minute of the time before, and when it last did. */
    arrivals: new Map<string, { readonly count: number; readonly at: number }>(),
    results: newResults(),
    sent: newSent(),
    /** The task that a worker received longest before its eta, and the one that ran longest; `null`: none. */
    longestEta: null as HeldFor | null,
    longestRun: null as HeldFor | null,
    unreadable: { event: newUnreadable(), result: newUnreadable() },
    /** Messages on the channels of events since we were connected, readable or not. */
    events: 0,
    /** Events of workers about tasks since then, and whether there have ever been any. */
    taskEvents: 0,
    hasTaskEvents: false,
    /** Of them, successful ends; and the first of those. */
    finished: 0,
    firstFinished: null as number | null,
    /** When the last message of any worker arrived. */
    lastWorker: null as number | null,
    /** Depths of the queues; `null` while they have not been read. */
    queues: null as readonly QueueCounts[] | null,
    /** Whether workers last answered in another serializer, and which, as far as they are known. */
    repliesUnreadable: false,
    repliers: [] as readonly string[],
    /** Tasks received later than this were sent while we listened. */
    judgeFrom: Number.POSITIVE_INFINITY,
  };
}

/** One worker, since its first message, since it came online, or since we connected. */
export type WorkerFacts = ReturnType<typeof newWorker>;

/** A worker after its first message. */
function newWorker(now: number) {
  return {
    lastHeard: now,
    /** When its last heartbeat with figures arrived. */
    lastBeat: null as number | null,
    /** Tasks that it had begun, by its own count, at that time. */
    processed: null as number | null,
    /** The number of events about tasks since then: the worker's next count is compared with it. */
    eventsSinceBeat: 0,
    /** Tasks begun since its last event about a task. */
    silentRuns: 0,
    /** When the first of them was noticed. */
    silentSince: null as number | null,
    /** Events about tasks. */
    taskEvents: 0,
    /** Its pool, as it answered; `null`: unknown. */
    pool: null as string | null,
    /** How many tasks it runs at a time, and for how many it asks the broker, as it answered; `null`: unknown. */
    slots: null as number | null,
    prefetch: null as number | null,
    /** Events that report the end of a task. */
    ends: 0,
    /** Ended tasks by its own count, at its heartbeats of the last seconds. */
    counted: [] as { readonly at: number; readonly ended: number }[],
    /** Ended tasks of which no event has reported the end; 0 until a few seconds have passed. */
    lostEnds: 0,
    /** Published results that name it. */
    results: 0,
    firstResult: null as number | null,
    /** How far its clock is ahead of ours, in milliseconds, by the last heartbeat. */
    skew: 0,
    /** Heartbeats in a row whose clock was far off. */
    skewed: 0,
  };
}

/** The number of results published since we connected, and of stored results that were read. */
function newResults() {
  return {
    /** Results published. */
    heard: 0,
    /** The first of them that ended with success, which a task only has after it has run. */
    firstSuccess: null as number | null,
    /** Successes in a row without the name of the task; 0 after one with it. */
    nameless: 0,
    named: 0,
    /** The same of stored ones that were read, not in a row. */
    storedNameless: 0,
    storedNamed: 0,
    /** The task of the last published result. */
    lastId: null as string | null,
  };
}

/** First attempts of tasks that were sent while we listened. */
function newSent() {
  return {
    /** Whether a client has ever reported a task that it sent. */
    isHeard: false,
    /** How many a worker has received, and when the first of them. */
    received: 0,
    firstReceived: null as number | null,
  };
}

/** Messages in another serializer. */
function newUnreadable() {
  return {
    count: 0,
    last: 0,
    /** Messages since then that could be read. */
    readSince: 0,
  };
}

function takeEvent(state: State, change: TaskChange, now: number): void {
  const { id, type, worker } = change;
  state.events += 1;
  state.unreadable.event.readSince += 1;
  if (id.length > LONGEST) return;
  if (type === 'sent') {
    state.sent.isHeard = true;
    return;
  }
  // A task sends custom events through its own dispatcher, even if its worker sends no events.
  if (type === 'custom') return;
  if (type === 'received') {
    takeReceived(state, change, now);
  } else if (type === 'succeeded') {
    state.finished += 1;
    state.firstFinished ??= now;
    if (typeof change.runtime === 'number')
      state.longestRun = longer(state.longestRun, change, change.runtime * 1_000, now);
  }
  if (typeof worker !== 'string' || worker.length > LONGEST) return;
  state.taskEvents += 1;
  state.hasTaskEvents = true;
  state.lastWorker = now;
  const facts = workerOf(state.workers, worker, now);
  facts.taskEvents += 1;
  facts.eventsSinceBeat += 1;
  facts.silentRuns = 0;
  facts.silentSince = null;
  if (type !== 'received' && type !== 'started') facts.ends += 1;
}

function takeReceived(state: State, change: TaskChange, now: number): void {
  const { sent } = state;
  const { eta, retries } = change;
  if (typeof eta === 'number') state.longestEta = longer(state.longestEta, change, eta - now, now);
  // The worker sends a retry itself; a client sends the first attempt.
  if (now < state.judgeFrom || (retries ?? 0) > 0) return;
  sent.received += 1;
  sent.firstReceived ??= now;
}

function longer(known: HeldFor | null, { name }: TaskChange, ms: number, now: number): HeldFor | null {
  const isKnown = known !== null && now - known.at < HELD_MS;
  if (ms <= (isKnown ? known.ms : 0)) return known;
  return { name: typeof name === 'string' && name.length <= LONGEST ? name : null, ms, at: now };
}

function takeResult(state: State, change: TaskChange, now: number): void {
  const { results } = state;
  const { id, type, name, worker } = change;
  // A row that the app created when it sent the task.
  if (type === 'sent') return;
  if (change.stored === true) {
    if (type !== 'succeeded') return;
    if (typeof name === 'string') results.storedNamed += 1;
    else results.storedNameless += 1;
    return;
  }
  results.heard += 1;
  if (id.length <= LONGEST) results.lastId = id;
  state.unreadable.result.readSince += 1;
  if (typeof worker === 'string' && worker.length <= LONGEST) {
    state.lastWorker = now;
    const facts = workerOf(state.workers, worker, now);
    facts.results += 1;
    facts.firstResult ??= now;
  }
  if (type !== 'succeeded') return;
  results.firstSuccess ??= now;
  if (typeof name === 'string') {
    results.named += 1;
    results.nameless = 0;
  } else {
    results.nameless += 1;
  }
}

function takeWorker(state: State, change: WorkerChange, now: number): void {
  const { hostname, type } = change;
  if (type !== 'reply') {
    state.events += 1;
    state.unreadable.event.readSince += 1;
  }
  if (hostname.length > LONGEST) return;
  if (type === 'offline') {
    state.workers.delete(hostname);
    return;
  }
  if (type === 'online') {
    state.workers.delete(hostname);
    noteArrival(state.arrivals, hostname, now);
  }
  state.lastWorker = now;
  const facts = workerOf(state.workers, hostname, now);
  if (type === 'heartbeat') takeHeartbeat(facts, change, now);
  else if (type === 'online') facts.processed = change.processed ?? null;
  else if (typeof change.pool === 'string') facts.pool = change.pool;
}

function noteArrival(arrivals: State['arrivals'], hostname: string, now: number): void {
  const known = arrivals.get(hostname);
  // The one that was heard longest ago comes first.
  arrivals.delete(hostname);
  const [first] = arrivals.keys();
  if (first !== undefined && arrivals.size >= MOST_WORKERS) arrivals.delete(first);
  const isAgain = known !== undefined && now - known.at < AGAIN_MS;
  arrivals.set(hostname, { count: isAgain ? known.count + 1 : 1, at: now });
}

/** The facts of a worker that has sent a message; adds a new worker. */
function workerOf(workers: Map<string, WorkerFacts>, hostname: string, now: number): WorkerFacts {
  let facts = workers.get(hostname);
  if (facts === undefined) {
    const first = workers.size < MOST_WORKERS ? undefined : workers.keys().next().value;
    if (first !== undefined) workers.delete(first);
    facts = newWorker(now);
    workers.set(hostname, facts);
  }
  facts.lastHeard = now;
  return facts;
}

/** A heartbeat counts the tasks that the worker began; events should have reported each of them. */
function takeHeartbeat(facts: WorkerFacts, { time, processed, active }: WorkerChange, now: number): void {
  facts.skew = time - now;
  facts.skewed = Math.abs(facts.skew) > SKEW_MS ? facts.skewed + 1 : 0;
  if (typeof processed !== 'number') return;
  const begun = facts.processed === null ? 0 : processed - facts.processed;
  const hadEvents = facts.eventsSinceBeat > 0;
  facts.processed = processed;
  facts.lastBeat = now;
  facts.eventsSinceBeat = 0;
  if (typeof active === 'number') countEnds(facts, processed - active, now);
  if (begun <= 0 || hadEvents) return;
  facts.silentRuns += begun;
  facts.silentSince ??= now;
}

/** Compares the ends that the worker had counted some seconds ago with the events until now. */
function countEnds(facts: WorkerFacts, ended: number, now: number): void {
  const { counted } = facts;
  // What ended before the first heartbeat has no events here.
  if (counted.length === 0) facts.ends = ended;
  const last = counted.at(-1);
  // However many heartbeats a worker sends, a few are kept.
  if (last === undefined || now - last.at >= BETWEEN_MS) counted.push({ at: now, ended });
  while (counted.length > 2 && now - (counted[1]?.at ?? now) >= LATE_MS) counted.shift();
  const [known] = counted;
  if (known !== undefined && now - known.at >= LATE_MS) facts.lostEnds = known.ended - facts.ends;
}

function takeUnreadable(state: State, kind: MessageKind, message: string, now: number): void {
  if (kind === 'event') state.events += 1;
  if (!isOtherSerializer(kind, message)) return;
  const facts = state.unreadable[kind];
  facts.count += 1;
  facts.last = now;
  facts.readSince = 0;
}

function takeReplies(
  state: State,
  { values, unreadable }: { readonly values: ReadonlyMap<string, unknown>; readonly unreadable: number },
  now: number,
): void {
  for (const [name, value] of values) takeStats(state, name, recordOf(value), now);
  if (values.size === 0 && unreadable === 0) return;
  state.repliesUnreadable = unreadable > 0;
  state.repliers = state.repliesUnreadable
    ? [...values].flatMap(([name, value]) => (value === null ? name : []))
    : [];
}

/** Only the answer to `stats` has these members. */
function takeStats(state: State, hostname: string, stats: ReturnType<typeof recordOf>, now: number): void {
  const slots = recordOf(stats?.pool)?.['max-concurrency'];
  if (hostname.length > LONGEST || typeof slots !== 'number' || typeof stats?.prefetch_count !== 'number')
    return;
  const facts = workerOf(state.workers, hostname, now);
  facts.slots = slots;
  facts.prefetch = stats.prefetch_count;
}

function startAgain(state: State, server: 'broker' | 'backend', now: number): void {
  state.finished = 0;
  state.firstFinished = null;
  if (server === 'backend') return;
  state.workers.clear();
  state.sent = { ...newSent(), isHeard: state.sent.isHeard };
  state.events = 0;
  state.taskEvents = 0;
  state.lastWorker = null;
  state.judgeFrom = now + WARM_UP;
}

function takeQueues(state: State, queues: readonly QueueCounts[], now: number): void {
  state.queues = queues;
  const isEmpty = queues.length > 0 && queues.every(({ waiting }) => waiting === 0);
  if (now < state.judgeFrom && isEmpty) state.judgeFrom = now;
}

/**
 * Whether an unreadable message uses another serializer and is not just broken. An event names its content
 * type; a stored result is judged by its first character.
 */
function isOtherSerializer(kind: MessageKind, message: string): boolean {
  if (kind === 'result') return message !== '' && !/^\s*[[{"\d-]/.test(message);
  return message !== '' && message !== 'application/json';
}
