import { setMaxListeners } from 'node:events';
import { MonitorError } from '../errors.ts';

/** Longest time of all work in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;
/** Time after which the next queue gets a slice, in milliseconds. Every turn with waiting work has one slice. */
const SLICE_MS = 2;
/**
 * Time of waiting work in a turn, as a share of what the host used before it. Node accepts one connection in a
 * turn, so a short turn must stay short; a fifth of the whole time is enough for the work to end.
 */
const SHARE_OF_HOST = 1 / 4;

/** Runs long work in slices. */
export interface Scheduler {
  /**
   * Runs a piece of work. The result is no promise when it ends in the time that this turn has left.
   *
   * @param kind a short constant, such as `search`
   * @param waiter who waits. Default: nobody; the work is then never refused
   * @returns a promise rejects with what the steps throw, or with the reason of the signal
   * @throws MonitorError `overloaded` when too much work is waiting; and what the steps throw
   */
  run<Result>(kind: string, steps: Steps<Result>, waiter?: Waiter): Result | Promise<Result>;
  /** Whether no work is waiting and this turn has time left, so that short work may be done at once. */
  hasTime(): boolean;
  /** Does work that cannot be divided, and counts its time. */
  measure<Result>(work: () => Result): Result;
  /** How many pieces of work are waiting. */
  readonly waiting: number;
}

/** Clock and event loop of a scheduler. */
interface SchedulerOptions {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Calls back in the next turn of the event loop. */
  readonly defer: (turn: () => void) => void;
}

interface State extends SchedulerOptions {
  readonly queues: AllQueues;
  readonly estimates: Estimates;
  /** Which queues had the latest slice. */
  latest: keyof AllQueues;
  waiting: number;
  /** The work that has its slice now. */
  running: Work | null;
  /** Time used since the latest turn began, in milliseconds. */
  spentMs: number;
  /** The part of it that was used by work from the queues. */
  slicedMs: number;
  /** When the latest turn ended; `null` when no work was left then, so that the event loop may have been idle. */
  endedAt: number | null;
  isTurnDue: boolean;
  isMeasuring: boolean;
}

/** Creates a scheduler. The library has one for the process; tests give a clock of their own. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const state: State = {
    ...options,
    queues: { clients: new Map(), own: new Map() },
    estimates: new Map(),
    latest: 'own',
    waiting: 0,
    running: null,
    spentMs: 0,
    slicedMs: 0,
    endedAt: null,
    isTurnDue: false,
    isMeasuring: false,
  };
  return {
    run<Result>(kind: string, steps: Steps<Result>, waiter?: Waiter): Result | Promise<Result> {
      if (!hasTime(state)) return enqueue(state, kind, steps, 0, waiter);
      const start = state.now();
      const step = measure(state, () => advance(state, steps, TURN_MS - state.spentMs));
      return step.done === true ? step.value : enqueue(state, kind, steps, state.now() - start, waiter);
    },
    hasTime: () => hasTime(state),
    measure: (work) => measure(state, work),
    get waiting() {
      return state.waiting;
    },
  };
}

function hasTime({ waiting, spentMs }: State): boolean {
  return waiting === 0 && spentMs < TURN_MS;
}

/** Counts the time of work, but not twice that of work within work. */
function measure<Result>(state: State, work: () => Result): Result {
  if (state.isMeasuring) return work();
  const start = state.now();
  state.isMeasuring = true;
  try {
    return work();
  } finally {
    state.isMeasuring = false;
    state.spentMs += state.now() - start;
    arrangeTurn(state);
  }
}

/** Runs steps until they end or the time is over. */
function advance<Result>({ now }: State, steps: Steps<Result>, ms: number): IteratorResult<void, Result> {
  const end = now() + ms;
  let step = steps.next();
  while (step.done !== true && now() < end) step = steps.next();
  return step;
}

function enqueue<Result>(
  state: State,
  kind: string,
  steps: Steps<Result>,
  usedMs: number,
  waiter: Waiter | undefined,
): Promise<Result> {
  const queues = waiter === undefined ? state.queues.own : state.queues.clients;
  const key = `${kind} ${waiter?.client ?? ''}`;
  if (waiter !== undefined && isOverloaded(queues, state.estimates, key, kind)) {
    steps.return(undefined as Result);
    throw new MonitorError('overloaded');
  }
  const signal = waiter?.signal;
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      work.leave();
      // Steps that abort their own signal have not come to their next pause yet.
      if (state.running !== work) steps.return(undefined as Result);
      reject(signal?.reason);
    };
    const leave = (): void => {
      signal?.removeEventListener('abort', stop);
      remove(state, queues, key, work);
    };
    const work: Work = { kind, steps, usedMs, resolve: resolve as Work['resolve'], reject, leave };
    const queue = queues.get(key);
    if (queue === undefined) queues.set(key, [work]);
    else queue.push(work);
    state.waiting += 1;
    if (signal?.aborted) stop();
    else if (signal !== undefined) {
      // One signal may end many pieces of work; Node would warn of a leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', stop, { once: true });
    }
    arrangeTurn(state);
  });
}

function remove(state: State, queues: Queues, key: string, work: Work): void {
  const queue = queues.get(key) ?? [];
  const at = queue.indexOf(work);
  if (at < 0) return;
  queue.splice(at, 1);
  if (queue.length === 0) queues.delete(key);
  state.waiting -= 1;
}

function arrangeTurn(state: State): void {
  if (state.isTurnDue || (state.waiting === 0 && state.spentMs === 0)) return;
  state.isTurnDue = true;
  state.defer(() => turn(state));
}

/** Gives slices to the queues. */
function turn(state: State): void {
  const budget = budgetOf(state);
  state.isTurnDue = false;
  state.spentMs = 0;
  do runSlice(state);
  while (state.waiting > 0 && state.spentMs + SLICE_MS <= budget);
  state.slicedMs = state.spentMs;
  state.endedAt = state.waiting > 0 ? state.now() : null;
  arrangeTurn(state);
}

/** Time of waiting work in this turn: little beside a host that does little, so that its turns stay short. */
function budgetOf({ now, endedAt, spentMs, slicedMs }: State): number {
  const doneAtOnceMs = spentMs - slicedMs;
  const hostMs = endedAt === null ? 0 : now() - endedAt - doneAtOnceMs;
  return Math.min(hostMs * SHARE_OF_HOST, TURN_MS - doneAtOnceMs);
}

function runSlice(state: State): void {
  const { queues } = state;
  const isOwnNext = queues.clients.size === 0 || (state.latest === 'clients' && queues.own.size > 0);
  state.latest = isOwnNext ? 'own' : 'clients';
  const round = queues[state.latest];
  const next = round.entries().next().value;
  if (next === undefined) return;
  const [key, queue] = next;
  // The queue moves to the end of the round.
  round.delete(key);
  round.set(key, queue);
  if (queue[0] !== undefined) advanceWork(state, queue[0]);
}

function advanceWork(state: State, work: Work): void {
  const before = state.spentMs;
  state.running = work;
  try {
    const step = measure(state, () => advance(state, work.steps, SLICE_MS));
    work.usedMs += state.spentMs - before;
    if (step.done !== true) return;
    learn(state.estimates, work.kind, work.usedMs);
    work.leave();
    work.resolve(step.value);
  } catch (error) {
    work.leave();
    work.reject(error);
  } finally {
    state.running = null;
  }
}

/** Most pieces of work that may wait for clients. */
const MAX_WAITING = 256;
/** Work that would wait longer is refused, in milliseconds. Half of the default time limit of a read. */
const MAX_WAIT_MS = 5_000;
/** Expected time of a kind of work that has not been seen yet, in milliseconds. */
const FIRST_ESTIMATE_MS = 10;
/** Weight of the latest work in the estimate of its kind. */
const LATEST_WEIGHT = 1 / 4;

/** Usual time of each kind of work, in milliseconds. */
type Estimates = Map<string, number>;

/** Notes how long a piece of work has taken. */
function learn(estimates: Estimates, kind: string, usedMs: number): void {
  const usual = estimates.get(kind) ?? usedMs;
  estimates.set(kind, usual + (usedMs - usual) * LATEST_WEIGHT);
}

/** Whether one more piece of work in the queue `key` would have to wait too long. */
function isOverloaded(queues: Queues, estimates: Estimates, key: string, kind: string): boolean {
  let count = 0;
  let total = 0;
  let before = 0;
  for (const [name, queue] of queues) {
    count += queue.length;
    const rest = queue.reduce((sum, work) => sum + Math.max(0, usualOf(work.kind) - work.usedMs), 0);
    total += rest;
    if (name === key) before = rest;
  }
  const competing = queues.has(key) ? queues.size : queues.size + 1;
  const inTurns = (before + usualOf(kind)) * competing - usualOf(kind);
  return count >= MAX_WAITING || Math.min(total, inTurns) > MAX_WAIT_MS;

  function usualOf(of: string): number {
    return estimates.get(of) ?? FIRST_ESTIMATE_MS;
  }
}

/** Long work. It yields wherever it may be interrupted: at least once in a millisecond. */
export type Steps<Result> = Generator<void, Result, void>;

/** The clients that wait for a piece of work. The context of a read is one. */
export interface Waiter {
  /** Aborts when the last client has left, or when the time limit has passed. The work then stops. */
  readonly signal: AbortSignal;
  /** Identifies the client. Default: all clients without a name count as one. */
  readonly client?: string | undefined;
}

/** A piece of work that waits for its next slice. */
interface Work {
  readonly kind: string;
  readonly steps: Steps<unknown>;
  /** Time used so far, in milliseconds. */
  usedMs: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Takes the work out of its queue. */
  leave(): void;
}

/** Queues of work, by kind and client. The first queue has the next slice. */
type Queues = Map<string, Work[]>;

/** Queues of the work that clients wait for, and of the library's own work. */
interface AllQueues {
  readonly clients: Queues;
  readonly own: Queues;
}
