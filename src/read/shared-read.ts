/** A read in flight that is shared by concurrent requests, with a deadline. */
import { MonitorError } from '../errors.ts';
import { type OnLeave, WAITER_LEFT } from '../single-flight.ts';
import type { Awaitable } from '../source.ts';

export type { OnLeave } from '../single-flight.ts';

/** The rejection of a client that has disconnected. */
export const CLIENT_GONE: Error = WAITER_LEFT;

/** One read in flight, with any number of waiting clients. */
export interface SharedRead<Result> {
  /** Waits for the result. Rejects with {@link CLIENT_GONE} when this client leaves first. */
  join(onLeave: OnLeave | undefined): Promise<Result>;
  /** Ends the read with this error; a later result of the source is ignored. */
  cancel(error: MonitorError): void;
}

/** Options of {@link createSharedRead}. */
export interface SharedReadOptions<Raw, Result> {
  readonly pending: PromiseLike<Raw>;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /**
   * Turns of the event loop from the timer to the deadline. After a turn that the host held up, all timers are due at
   * once, in no useful order: what has arrived meanwhile, and the deadlines of the parts of a read, come first.
   */
  readonly turnsLeft: number;
  /** Makes the result from the data of the source. A thrown error is the outcome. */
  finish(raw: Raw): Awaitable<Result>;
  /** Makes the error from the rejection of the source, or from the deadline. */
  fail(error: unknown): MonitorError;
  /**
   * Called when the last waiter has left, on cancel, and at the deadline when the source has answered but the
   * result is not made yet. After the first, the deadline still runs.
   */
  onGiveUp(): void;
  /** Called at the deadline, when the source has not answered. */
  onDeadline(): void;
  /** Called once, with the outcome. */
  onEnd(): void;
  /** Called when the source has answered, in time or late. */
  onLateEnd(): void;
}

/** The state of a shared read. */
interface State<Raw, Result> {
  readonly options: SharedReadOptions<Raw, Result>;
  readonly outcome: Promise<Result>;
  readonly settle: { readonly resolve: (value: Result) => void; readonly reject: (error: unknown) => void };
  timer: NodeJS.Timeout | undefined;
  waiters: number;
  /** Whether every waiter has left. */
  deserted: boolean;
  /** Whether the source has answered. */
  answered: boolean;
  ended: boolean;
}

/** Starts the deadline of a read, and waits for the source. */
export function createSharedRead<Raw, Result>(options: SharedReadOptions<Raw, Result>): SharedRead<Result> {
  const state = createState(options);
  state.timer = setTimeout(() => onTimer(state, options.turnsLeft), options.timeoutMs);
  state.timer.unref();

  // Unlike Promise.resolve, a resolver also catches errors of a thenable that throws.
  new Promise<Raw>((adopt) => adopt(options.pending)).then(
    (raw) => {
      options.onLateEnd();
      finish(state, raw);
    },
    (error) => {
      options.onLateEnd();
      fail(state, error);
    },
  );

  return {
    join: (onLeave) => join(state, onLeave),
    cancel(error) {
      options.onGiveUp();
      end(state, () => state.settle.reject(error));
    },
  };
}

function createState<Raw, Result>(options: SharedReadOptions<Raw, Result>): State<Raw, Result> {
  let resolve: (value: Result) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const outcome = new Promise<Result>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  // Each client waits on a promise of its own; this one must not be an unhandled rejection.
  outcome.catch(() => {});
  const settle = { resolve, reject };
  return {
    options,
    outcome,
    settle,
    timer: undefined,
    waiters: 0,
    deserted: false,
    answered: false,
    ended: false,
  };
}

function end<Raw, Result>(state: State<Raw, Result>, settle: () => void): void {
  if (state.ended) return;
  state.ended = true;
  clearTimeout(state.timer);
  state.options.onEnd();
  settle();
}

function onTimer<Raw, Result>(state: State<Raw, Result>, turnsLeft: number): void {
  if (state.ended) return;
  if (turnsLeft === 0) onDeadline(state);
  else setImmediate(() => onTimer(state, turnsLeft - 1));
}

/** A source that is late has timed out. A result that is late has waited for its turn: too much is asked. */
function onDeadline<Raw, Result>(state: State<Raw, Result>): void {
  const { options, settle } = state;
  if (state.answered) {
    options.onGiveUp();
    end(state, () => settle.reject(new MonitorError('overloaded')));
  } else {
    options.onDeadline();
    fail(state, new MonitorError('source_timeout'));
  }
}

function finish<Raw, Result>(state: State<Raw, Result>, raw: Raw): void {
  const { options, settle } = state;
  if (state.ended) return;
  state.answered = true;
  const reject = (error: unknown): void =>
    end(state, () => settle.reject(state.deserted ? CLIENT_GONE : error));
  if (state.deserted) {
    reject(CLIENT_GONE);
    return;
  }
  // An async function, so that a thrown error is an outcome, too.
  const make = async (): Promise<Result> => options.finish(raw);
  make().then((result) => end(state, () => settle.resolve(result)), reject);
}

/** Ends the read with an error. A source that rejects because its signal was aborted has not failed. */
function fail<Raw, Result>(state: State<Raw, Result>, error: unknown): void {
  end(state, () => state.settle.reject(state.deserted ? CLIENT_GONE : state.options.fail(error)));
}

function join<Raw, Result>(state: State<Raw, Result>, onLeave: OnLeave | undefined): Promise<Result> {
  state.waiters += 1;
  if (onLeave === undefined) return state.outcome;
  return new Promise<Result>((onValue, onError) => {
    const stay = onLeave(() => {
      onError(CLIENT_GONE);
      leave(state);
    });
    state.outcome.finally(stay).then(onValue, onError);
  });
}

function leave<Raw, Result>(state: State<Raw, Result>): void {
  state.waiters -= 1;
  if (state.waiters > 0 || state.ended) return;
  state.deserted = true;
  state.options.onGiveUp();
}
