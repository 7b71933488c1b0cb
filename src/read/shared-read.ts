/** A read under way that all who ask the same share: a single flight with a deadline. */
import { MonitorError } from '../errors.ts';
import { type OnLeave, WAITER_LEFT } from '../single-flight.ts';

export type { OnLeave } from '../single-flight.ts';

/** Rejects the wait of a client that has gone: there is nobody to answer. */
export const CLIENT_GONE: Error = WAITER_LEFT;

/** One read under way, waited for by any number of clients. */
export interface SharedRead<Result> {
  /** Waits for it. Rejects with {@link CLIENT_GONE} when this client leaves first. */
  join(onLeave: OnLeave | undefined): Promise<Result>;
  /** Ends it with this error; what the source answers later means nothing. */
  cancel(error: MonitorError): void;
}

/** What happens to a {@link SharedRead}. */
export interface SharedReadOptions<Raw, Result> {
  readonly pending: PromiseLike<Raw>;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Makes the result of what the source answered. What it throws is the outcome. */
  finish(raw: Raw): Result;
  /** Makes the outcome of what the source threw, or of the deadline. */
  fail(error: unknown): MonitorError;
  /** Nobody waits any more. Unless it was cancelled, its deadline goes on. */
  onGiveUp(): void;
  /** The deadline has passed and the source has not answered. */
  onDeadline(): void;
  /** It has its outcome. Called once. */
  onEnd(): void;
  /** The source has answered, be it in time or late. */
  onLateEnd(): void;
}

/** How a shared read stands. */
interface State<Raw, Result> {
  readonly options: SharedReadOptions<Raw, Result>;
  readonly outcome: Promise<Result>;
  readonly settle: { readonly resolve: (value: Result) => void; readonly reject: (error: unknown) => void };
  timer: NodeJS.Timeout | undefined;
  waiters: number;
  /** Whether every waiter has left. */
  deserted: boolean;
  ended: boolean;
}

export function createSharedRead<Raw, Result>(options: SharedReadOptions<Raw, Result>): SharedRead<Result> {
  const state = createState(options);
  state.timer = setTimeout(() => {
    options.onDeadline();
    fail(state, new MonitorError('source_timeout'));
  }, options.timeoutMs);
  state.timer.unref();

  // Unlike Promise.resolve, a resolver catches whatever a hostile thenable throws.
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
      if (state.ended) return;
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
  // Each client waits on a branch of its own; this one must not count as unhandled.
  outcome.catch(() => {});
  const settle = { resolve, reject };
  return { options, outcome, settle, timer: undefined, waiters: 0, deserted: false, ended: false };
}

function end<Raw, Result>(state: State<Raw, Result>, settle: () => void): void {
  if (state.ended) return;
  state.ended = true;
  clearTimeout(state.timer);
  state.options.onEnd();
  settle();
}

function finish<Raw, Result>(state: State<Raw, Result>, raw: Raw): void {
  end(state, () => {
    try {
      state.settle.resolve(state.options.finish(raw));
    } catch (error) {
      state.settle.reject(error);
    }
  });
}

/** A source that gives up because its signal was aborted has not failed. */
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
