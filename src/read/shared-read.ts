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

export function createSharedRead<Raw, Result>(options: SharedReadOptions<Raw, Result>): SharedRead<Result> {
  let waiters = 0;
  let deserted = false;
  let ended = false;
  let resolve: (value: Result) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const outcome = new Promise<Result>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  // Each client waits on a branch of its own; this one must not count as unhandled.
  outcome.catch(() => {});

  function end(settle: () => void): void {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    options.onEnd();
    settle();
  }

  /** A source that gives up because its signal was aborted has not failed. */
  function fail(error: unknown): void {
    end(() => reject(deserted ? CLIENT_GONE : options.fail(error)));
  }

  const timer = setTimeout(() => {
    options.onDeadline();
    fail(new MonitorError('source_timeout'));
  }, options.timeoutMs);
  timer.unref();

  // Unlike Promise.resolve, a resolver catches whatever a hostile thenable throws.
  new Promise<Raw>((adopt) => adopt(options.pending)).then(
    (raw) => {
      options.onLateEnd();
      end(() => {
        try {
          resolve(options.finish(raw));
        } catch (error) {
          reject(error);
        }
      });
    },
    (error) => {
      options.onLateEnd();
      fail(error);
    },
  );

  function leave(): void {
    waiters -= 1;
    if (waiters > 0 || ended) return;
    deserted = true;
    options.onGiveUp();
  }

  return {
    join(onLeave) {
      waiters += 1;
      if (onLeave === undefined) return outcome;
      return new Promise<Result>((onValue, onError) => {
        const stay = onLeave(() => {
          onError(CLIENT_GONE);
          leave();
        });
        outcome.finally(stay).then(onValue, onError);
      });
    },
    cancel(error) {
      if (ended) return;
      options.onGiveUp();
      end(() => reject(error));
    },
  };
}
