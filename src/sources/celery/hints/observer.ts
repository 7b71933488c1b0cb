/** Takes note of what hints need, beside the history: a few counters for each message. */
import type { TaskChange, WorkerChange } from '../../../history/history.ts';
import type { QueueDepth } from '../../../model.ts';
import type { Problem } from '../problem.ts';
import {
  type AccessPlace,
  type Facts,
  newResults,
  newUnreadable,
  newWorker,
  type WorkerFacts,
  type WrittenPlace,
} from './facts.ts';
import { createSentWatch } from './sent-watch.ts';

/** Workers remembered; the one heard of first goes when there are more. */
const MOST_WORKERS = 1000;
/** Ids and names longer than this, in characters, are not remembered. */
const LONGEST = 512;
/** A sender's clock that is further off than this, in milliseconds, is wrong. */
const SKEW = 60_000;
/** Tasks received sooner after we were connected may have been sent before. */
const WARM_UP = 60_000;

/** Is told everything that comes in. Nothing here throws or waits. */
export interface Observer {
  /** A change of a task, whoever told of it: to be called beside the history's `recordTask`. */
  task(change: TaskChange): void;
  /** What a worker says of itself: to be called beside `recordWorker`. */
  worker(change: WorkerChange): void;
  /**
   * A message that could not be read.
   *
   * @param message of a result, the whole message; of an event, its content type, empty when it names
   *   none: one that is JSON, yet broken, is counted elsewhere, and no setting mends it
   */
  unreadable(place: WrittenPlace, message: string): void;
  /** What workers answered to a question, by their names; `null` what could not be read. */
  replies(replies: { readonly values: ReadonlyMap<string, unknown>; readonly unreadable: number }): void;
  /** A connection is up, perhaps again: counts that would be wrong by what was missed begin anew. */
  connected(place: 'broker' | 'backend'): void;
  /** How reading or asking went: what is wrong, or `null` when it worked. */
  access(place: AccessPlace, problem: Problem | null): void;
  /** What waits in the queues that are known; none are known before they have been read. */
  queues(depths: readonly QueueDepth[]): void;
  facts(): Facts;
}

/** @param clock milliseconds since 1970 */
export function createObserver(clock: () => number = Date.now): Observer {
  const workers = new Map<string, WorkerFacts>();
  const sent = createSentWatch();
  const problems: Record<AccessPlace, Problem | null> = {
    results: null,
    queues: null,
    schedules: null,
    control: null,
  };
  const unreadable = { event: newUnreadable(), result: newUnreadable() };
  const results = newResults();
  let events = 0;
  let taskEvents = 0;
  let finished = 0;
  let firstFinished: number | null = null;
  let lastWorker: number | null = null;
  let depths: readonly QueueDepth[] | null = null;
  let repliesUnreadable = false;
  let repliers: readonly string[] = [];
  /** From when on a task that is received was sent while we were listening. */
  let judgeFrom = Number.POSITIVE_INFINITY;

  function workerOf(hostname: string, now: number): WorkerFacts {
    let facts = workers.get(hostname);
    if (facts === undefined) {
      const first = workers.size < MOST_WORKERS ? undefined : workers.keys().next().value;
      if (first !== undefined) workers.delete(first);
      facts = newWorker(now);
      workers.set(hostname, facts);
    }
    facts.lastHeard = now;
    lastWorker = now;
    return facts;
  }

  function takeEvent(change: TaskChange): void {
    const now = clock();
    events += 1;
    unreadable.event.readSince += 1;
    const { id, type, worker } = change;
    if (id.length > LONGEST) return;
    if (type === 'sent') {
      sent.sent(id);
      return;
    }
    // Tasks send these themselves, over a dispatcher of their own, whatever the worker is set to.
    if (type === 'custom') return;
    if (type === 'received') {
      // A retry is sent by the worker; a first attempt by whoever wants the task.
      if (now >= judgeFrom && (change.retries ?? 0) === 0) sent.received(id, change.name, now);
    } else if (type !== 'started') {
      sent.ended(id);
    }
    if (type === 'succeeded') {
      finished += 1;
      firstFinished ??= now;
    }
    if (typeof worker !== 'string' || worker.length > LONGEST) return;
    taskEvents += 1;
    const facts = workerOf(worker, now);
    facts.taskEvents += 1;
    facts.eventsSinceBeat += 1;
    facts.silentRuns = 0;
    facts.silentSince = null;
  }

  function takeBeat(facts: WorkerFacts, { time, processed }: WorkerChange, now: number): void {
    facts.skew = time - now;
    facts.skewed = Math.abs(facts.skew) > SKEW ? facts.skewed + 1 : 0;
    if (typeof processed !== 'number') return;
    const begun = facts.processed === null ? 0 : processed - facts.processed;
    const isTold = facts.eventsSinceBeat > 0;
    facts.processed = processed;
    facts.lastBeat = now;
    facts.eventsSinceBeat = 0;
    if (begun <= 0 || isTold) return;
    facts.silentRuns += begun;
    facts.silentSince ??= now;
  }

  function takeResult(change: TaskChange): void {
    const { id, type, name, worker } = change;
    if (type === 'started') results.started += 1;
    if (change.stored === true) {
      if (type !== 'succeeded') return;
      if (typeof name === 'string') results.storedNamed += 1;
      else results.storedNameless += 1;
      return;
    }
    const now = clock();
    results.heard += 1;
    if (id.length <= LONGEST) results.lastId = id;
    unreadable.result.readSince += 1;
    if (typeof worker === 'string' && worker.length <= LONGEST) {
      const facts = workerOf(worker, now);
      facts.results += 1;
      facts.firstResult ??= now;
    }
    if (type !== 'started') sent.hasResult(id, now);
    if (type !== 'succeeded') return;
    results.successes += 1;
    results.firstSuccess ??= now;
    if (typeof name === 'string') {
      results.named += 1;
      results.nameless = 0;
    } else {
      results.nameless += 1;
    }
  }

  return {
    task(change) {
      if (change.origin === 'event') takeEvent(change);
      else takeResult(change);
    },
    worker(change) {
      const now = clock();
      const { hostname, type } = change;
      if (type !== 'reply') {
        events += 1;
        unreadable.event.readSince += 1;
      }
      if (hostname.length > LONGEST) return;
      if (type === 'offline') {
        workers.delete(hostname);
        return;
      }
      if (type === 'online') workers.delete(hostname);
      const facts = workerOf(hostname, now);
      if (type === 'heartbeat') takeBeat(facts, change, now);
      else if (type === 'online') facts.processed = change.processed ?? null;
    },
    unreadable(place, message) {
      if (place === 'event') events += 1;
      if (!isOtherSerializer(place, message)) return;
      const facts = unreadable[place];
      facts.count += 1;
      facts.last = clock();
      facts.readSince = 0;
    },
    replies({ values, unreadable: count }) {
      if (values.size === 0 && count === 0) return;
      repliesUnreadable = count > 0;
      repliers = repliesUnreadable
        ? [...values].flatMap(([name, value]) => (value === null ? name : []))
        : [];
    },
    connected(place) {
      finished = 0;
      firstFinished = null;
      if (place === 'backend') return;
      workers.clear();
      sent.clear();
      events = 0;
      taskEvents = 0;
      lastWorker = null;
      judgeFrom = clock() + WARM_UP;
    },
    access(place, problem) {
      problems[place] = problem;
    },
    queues(read) {
      depths = read;
      const now = clock();
      const isEmpty = read.length > 0 && read.every(({ waiting }) => waiting === 0);
      if (now < judgeFrom && isEmpty) judgeFrom = now;
    },
    facts: () => ({
      workers,
      results,
      sent: sent.facts(clock()),
      unreadable,
      events,
      taskEvents,
      finished,
      firstFinished,
      lastWorker,
      queues: depths,
      problems,
      repliesUnreadable,
      repliers,
    }),
  };
}

/**
 * Whether a message that could not be read is in another serializer, not just broken. Of an event the
 * content type tells; of a stored result, the first character.
 */
function isOtherSerializer(place: WrittenPlace, message: string): boolean {
  if (place === 'result') return message !== '' && !/^\s*[[{"\d-]/.test(message);
  return message !== '' && message !== 'application/json';
}
