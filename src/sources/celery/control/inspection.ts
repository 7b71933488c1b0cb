import type { CollectedHistory, WorkerChange } from '../../../history/history.ts';
import { shareCalls } from '../../../single-flight.ts';
import type { WorkerSource } from '../../../source.ts';
import { recordOf } from '../../../values.ts';
import { waitFor } from '../../../waiting.ts';
import type { Replies } from './broadcast.ts';
import type { Control } from './control.ts';

/** How long answers count as fresh, in milliseconds. */
const FRESH_MS = 10_000;
/** How long the first answers are waited for, in milliseconds. */
const FIRST_WAIT_MS = 500;
/** How long a new worker is given before it is asked, in milliseconds. */
const ONLINE_PAUSE_MS = 1500;
const MAX_QUEUES = 10_000;

interface InspectionState {
  readonly control: Control;
  readonly history: CollectedHistory;
  /** Queues by worker. */
  readonly queues: Map<string, readonly string[]>;
  /** All queues, including those that no worker consumes any more: messages waiting there matter most. */
  readonly names: Set<string>;
  /** Workers that answered the last time. */
  answered: ReadonlySet<string>;
  /** Monotonic, in milliseconds. */
  freshUntil: number;
  /** Whether a worker has ever answered. */
  isKnown: boolean;
  /** Asks the workers once for concurrent callers. */
  readonly inspect: () => Promise<void>;
  timer: NodeJS.Timeout | undefined;
  closed: boolean;
}

/** Asks workers for what only they know: `stats`, `active_queues` and `registered`. Records the answers. */
export function createInspection(control: Control, history: CollectedHistory) {
  const state: InspectionState = {
    control,
    history,
    queues: new Map(),
    names: new Set(),
    answered: new Set(),
    freshUntil: Number.NEGATIVE_INFINITY,
    isKnown: false,
    inspect: shareCalls(() => inspect(state)),
    timer: undefined,
    closed: false,
  };
  return {
    /** Asks the workers, once for concurrent callers, unless the last answers are fresh. */
    refresh: () => refresh(state),
    /**
     * Wraps a source of workers: each read also asks the workers for their facts. Only the first read waits for
     * the answers.
     */
    withInspection: (workers: WorkerSource) => withInspection(state, workers),
    /** To be called for each `worker-online`: a new process may have other facts. */
    workerOnline: (hostname: string) => workerOnline(state, hostname),
    /** How many online workers consume each queue; `null` until a worker has answered. */
    queuesOf: () => (state.isKnown ? consumersOf(state) : null),
    /** Names of all queues that a worker has ever reported to consume. */
    knownQueues: () => [...state.names].sort(),
    close() {
      state.closed = true;
      clearTimeout(state.timer);
    },
  };
}

function refresh(state: InspectionState): Promise<void> {
  if (state.closed || performance.now() < state.freshUntil) return Promise.resolve();
  return state.inspect();
}

async function inspect(state: InspectionState): Promise<void> {
  const { control, history, queues, names } = state;
  // Before the replies: a late reply would make its worker seem younger than it is.
  const time = Date.now();
  const [stats, active, registered] = await Promise.all([
    control.ask('stats'),
    control.ask('active_queues'),
    control.ask('registered'),
  ]);
  state.freshUntil = performance.now() + FRESH_MS;
  for (const hostname of namesOf(stats, active, registered)) {
    const replies = {
      stats: stats?.values.get(hostname),
      active_queues: active?.values.get(hostname),
      registered: registered?.values.get(hostname),
    };
    history.writer.recordWorker(workerFactsOf(hostname, replies, time));
    const consumed = queueNames(replies.active_queues);
    if (consumed === undefined) continue;
    queues.set(hostname, consumed);
    for (const name of consumed) if (names.size < MAX_QUEUES) names.add(name);
  }
  if (active === null) return;
  state.answered = new Set(active.values.keys());
  state.isKnown ||= active.values.size > 0;
  forgetWorkers(state);
}

/** Forgets the workers that the history has forgotten. */
function forgetWorkers({ history, queues, answered }: InspectionState): void {
  const { responding, missing } = history.index.checkWorkers();
  const present = new Set([...answered, ...responding, ...missing]);
  for (const hostname of queues.keys()) if (!present.has(hostname)) queues.delete(hostname);
}

function withInspection(state: InspectionState, workers: WorkerSource): WorkerSource {
  const { status } = workers;
  return {
    ...workers,
    // An unchanged answer is not requested again, but its facts age.
    ...(status === undefined
      ? {}
      : {
          status: () => {
            void refresh(state);
            return status.call(workers);
          },
        }),
    async listWorkers(context) {
      const asking = refresh(state);
      if (!state.isKnown) await waitFor(asking, { ms: FIRST_WAIT_MS });
      return workers.listWorkers(context);
    },
  };
}

function workerOnline(state: InspectionState, hostname: string): void {
  state.control.workerOnline(hostname);
  if (state.closed || state.timer !== undefined) return;
  state.timer = setTimeout(() => {
    state.timer = undefined;
    state.freshUntil = Number.NEGATIVE_INFINITY;
    void refresh(state);
  }, ONLINE_PAUSE_MS).unref();
}

function consumersOf({ history, queues, names, answered }: InspectionState): Map<string, number> {
  const online = new Set([...answered, ...history.index.checkWorkers().responding]);
  const consumers = new Map<string, number>();
  for (const name of names) consumers.set(name, 0);
  for (const [hostname, consumed] of queues) {
    if (!online.has(hostname)) continue;
    for (const name of consumed) consumers.set(name, (consumers.get(name) ?? 0) + 1);
  }
  return consumers;
}

function namesOf(...all: readonly (Replies | null)[]): Set<string> {
  return new Set(all.flatMap((replies) => [...(replies?.values.keys() ?? [])]));
}

const MAX_LIST = 10_000;
const MAX_NAME = 512;

/**
 * What the replies say about the worker. Members that are malformed are left out.
 *
 * @param time when the worker was asked, milliseconds since 1970
 */
function workerFactsOf(
  hostname: string,
  replies: {
    readonly stats?: unknown;
    readonly active_queues?: unknown;
    readonly registered?: unknown;
  },
  time: number,
): WorkerChange {
  const stats = recordOf(replies.stats);
  const pool = recordOf(stats?.pool);
  const pid = count(stats?.pid);
  return {
    hostname,
    type: 'reply',
    time,
    ...defined('pid', pid),
    ...defined('uptimeSeconds', count(stats?.uptime)),
    ...defined('processed', sumOf(stats?.total)),
    ...defined('concurrency', count(pool?.['max-concurrency'])),
    ...defined('pool', poolName(pool, pid)),
    ...defined('poolSize', poolSize(pool)),
    ...defined('registeredTasks', registeredNames(replies.registered)),
    ...defined('queues', queueNames(replies.active_queues)),
    ...defined('rateLimits', rateLimits(replies.registered)),
  };
}

/** Names of the queues that a worker consumes; `undefined` when the reply does not say. */
function queueNames(reply: unknown): string[] | undefined {
  if (!Array.isArray(reply)) return undefined;
  return namesIn(reply.map((queue) => recordOf(queue)?.name));
}

/** `shop.pay`, or with the attributes of the task: `shop.pay [rate_limit=5/s]`. */
function registeredNames(reply: unknown): string[] | undefined {
  if (!Array.isArray(reply)) return undefined;
  return namesIn(reply.map((name) => (typeof name === 'string' ? withoutInfo(name) : null)));
}

/** Of the tasks that have one: `shop.pay [rate_limit=5/s]`. */
function rateLimits(reply: unknown): Record<string, string> | undefined {
  if (!Array.isArray(reply)) return undefined;
  const limits = reply.slice(0, MAX_LIST).flatMap((text: unknown): [string, string][] => {
    if (typeof text !== 'string' || text.length > 2 * MAX_NAME) return [];
    const limit = /[ []rate_limit=([\d.]+(?:\/[smh])?)[ \]]/.exec(text.slice(withoutInfo(text).length))?.[1];
    return limit === undefined ? [] : [[withoutInfo(text), limit]];
  });
  return Object.fromEntries(limits);
}

function withoutInfo(text: string): string {
  const start = text.endsWith(']') ? text.search(/ \[\w{1,40}=/) : -1;
  return start < 0 ? text : text.slice(0, start);
}

function namesIn(values: readonly unknown[]): string[] {
  const names = values.filter(
    (name): name is string => typeof name === 'string' && name !== '' && name.length <= MAX_NAME,
  );
  return [...new Set(names)].sort().slice(0, MAX_LIST);
}

/** Celery 5.3 and later name the pool (`celery.concurrency.prefork:TaskPool`); before, each pool has its own fields. */
function poolName(pool: Table | null, pid: number | undefined): string | undefined {
  if (pool === null) return undefined;
  const { implementation, processes } = pool;
  if (typeof implementation === 'string' && implementation !== '' && implementation.length <= MAX_NAME) {
    const own = /^celery\.concurrency\.(\w+):TaskPool$/.exec(implementation)?.[1];
    return own === 'thread' ? 'threads' : (own ?? implementation);
  }
  if (typeof pool.threads === 'number') return 'threads';
  if (pool['free-threads'] !== undefined) return 'eventlet';
  if (!Array.isArray(processes)) return undefined;
  if (pool.writes !== undefined) return 'prefork';
  // The solo pool has one process: that of the worker.
  return processes.length === 1 && processes[0] === pid ? 'solo' : undefined;
}

function poolSize(pool: Table | null): number | undefined {
  return Array.isArray(pool?.processes) ? pool.processes.length : count(pool?.threads);
}

/** What heartbeats call `processed`, here counted by the name of the task. */
function sumOf(total: unknown): number | undefined {
  const table = recordOf(total);
  if (table === null) return undefined;
  const counts = Object.values(table).map(count);
  return counts.every((value) => value !== undefined)
    ? counts.reduce((sum, value) => sum + value, 0)
    : undefined;
}

type Table = Readonly<Record<string, unknown>>;

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function defined<K extends keyof WorkerChange>(
  key: K,
  value: WorkerChange[K] | undefined,
): Partial<Pick<WorkerChange, K>> {
  return value === undefined ? {} : ({ [key]: value } as Pick<WorkerChange, K>);
}
