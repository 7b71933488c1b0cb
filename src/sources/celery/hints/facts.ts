/** The observations that hints need. Times in milliseconds since 1970, by our clock. */
import type { QueueCounts } from '../broker.ts';
import type { Problem } from '../hint.ts';

/** The kinds of messages that may use another serializer than JSON. */
export type MessageKind = 'event' | 'result';

/** One worker, since its first message, since it came online, or since we connected. */
export interface WorkerFacts {
  lastHeard: number;
  /** When its last heartbeat with figures arrived. */
  lastBeat: number | null;
  /** Tasks that it had begun, by its own count, at that time. */
  processed: number | null;
  /** The number of events about tasks since then: the worker's next count is compared with it. */
  eventsSinceBeat: number;
  /** Tasks begun since its last event about a task. */
  silentRuns: number;
  /** When the first of them was noticed. */
  silentSince: number | null;
  /** Events about tasks. */
  taskEvents: number;
  /** Its pool, as it answered; `null`: unknown. */
  pool: string | null;
  /** How many tasks it runs at a time, and for how many it asks the broker, as it answered; `null`: unknown. */
  slots: number | null;
  prefetch: number | null;
  /** Events that report the end of a task. */
  ends: number;
  /** Ended tasks by its own count, at its heartbeats of the last seconds. */
  readonly counted: { readonly at: number; readonly ended: number }[];
  /** Ended tasks of which no event has reported the end; 0 until a few seconds have passed. */
  lostEnds: number;
  /** Published results that name it. */
  results: number;
  firstResult: number | null;
  /** How far its clock is ahead of ours, in milliseconds, by the last heartbeat. */
  skew: number;
  /** Heartbeats in a row whose clock was far off. */
  skewed: number;
}

/** The number of results published since we connected, and of stored results that were read. */
export interface ResultFacts {
  /** Results published. */
  heard: number;
  /** Of them, ends with success, which a task only has after it has run. */
  successes: number;
  firstSuccess: number | null;
  /** Starts, published or stored. */
  started: number;
  /** Successes in a row without the name of the task; 0 after one with it. */
  nameless: number;
  named: number;
  /** The same of stored ones that were read, not in a row. */
  storedNameless: number;
  storedNamed: number;
  /** The task of the last published result. */
  lastId: string | null;
}

/** Messages in another serializer. */
export interface UnreadableFacts {
  count: number;
  last: number;
  /** Messages since then that could be read. */
  readSince: number;
}

/** First attempts of tasks that were sent while we listened. */
export interface SentFacts {
  /** Whether a client has ever reported a task that it sent. */
  isHeard: boolean;
  /** How many a worker has received, and when the first of them. */
  received: number;
  firstReceived: number | null;
}

/** How often a worker came online, each time within a minute of the time before, and when it last did. */
export interface Arrival {
  readonly count: number;
  readonly at: number;
}

/** How long a worker that held a message for long is mentioned, in milliseconds. */
export const HELD_MS = 3_600_000;

/** A name of tasks, for how long a worker held the message of one of them, and when that was noticed. */
export interface HeldFor {
  readonly name: string | null;
  readonly ms: number;
  readonly at: number;
}

/** What is wrong with each area; `null`: nothing is known to be. */
export type AccessProblems = Readonly<
  Record<'broker' | 'results' | 'queues' | 'schedules' | 'control', Problem | null>
>;

/** Everything that was observed. */
export interface Facts {
  readonly workers: ReadonlyMap<string, Readonly<WorkerFacts>>;
  /** By hostname. */
  readonly arrivals: ReadonlyMap<string, Arrival>;
  readonly results: Readonly<ResultFacts>;
  readonly sent: Readonly<SentFacts>;
  /** The task that a worker received longest before its eta, and the one that ran longest; `null`: none. */
  readonly longestEta: HeldFor | null;
  readonly longestRun: HeldFor | null;
  readonly unreadable: Readonly<Record<MessageKind, Readonly<UnreadableFacts>>>;
  /** Messages on the channels of events since we were connected, readable or not. */
  readonly events: number;
  /** Events of workers about tasks since then, and whether there have ever been any. */
  readonly taskEvents: number;
  readonly hasTaskEvents: boolean;
  /** Of them, successful ends; and the first of those. */
  readonly finished: number;
  readonly firstFinished: number | null;
  /** When the last message of any worker arrived. */
  readonly lastWorker: number | null;
  /** Depths of the queues; `null` while they have not been read. */
  readonly queues: readonly QueueCounts[] | null;
  /** Whether workers last answered in another serializer, and which, as far as they are known. */
  readonly repliesUnreadable: boolean;
  readonly repliers: readonly string[];
}

/** A worker after its first message. */
export function newWorker(now: number): WorkerFacts {
  return {
    lastHeard: now,
    lastBeat: null,
    processed: null,
    eventsSinceBeat: 0,
    silentRuns: 0,
    silentSince: null,
    taskEvents: 0,
    pool: null,
    slots: null,
    prefetch: null,
    ends: 0,
    counted: [],
    lostEnds: 0,
    results: 0,
    firstResult: null,
    skew: 0,
    skewed: 0,
  };
}

/** Before anything has come. */
export function newResults(): ResultFacts {
  return {
    heard: 0,
    successes: 0,
    firstSuccess: null,
    started: 0,
    nameless: 0,
    named: 0,
    storedNameless: 0,
    storedNamed: 0,
    lastId: null,
  };
}

/** Before anything has come. */
export function newUnreadable(): UnreadableFacts {
  return { count: 0, last: 0, readSince: 0 };
}
