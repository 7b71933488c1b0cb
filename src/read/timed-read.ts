/** A call of a source, until its result is made. It has a deadline. */
import { MonitorError } from '../errors.ts';
import { type Call, WAITER_LEFT } from '../single-flight.ts';
import type { Awaitable } from '../source.ts';

/** A call in progress. */
export interface TimedRead<Result> extends Call<Result> {
  /** Nobody waits any more: the call is aborted, and its deadline still runs. */
  abandon(): void;
  /** Ends the read with this error; a later answer of the source is ignored. */
  cancel(error: MonitorError): void;
}

/** Options of {@link startTimedRead}. */
export interface TimedReadOptions<Raw, Result> {
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
  abort(): void;
  /** Called at the deadline, when the source has not answered. */
  onDeadline(): void;
  /** Called once, with the outcome. */
  onEnd(): void;
  /** Called when the source has answered, in time or late. */
  onAnswer(): void;
}

/** Starts the deadline of a call, and waits for the source. */
export function startTimedRead<Raw, Result>(options: TimedReadOptions<Raw, Result>): TimedRead<Result> {
  let stage: 'asked' | 'answered' | 'ended' = 'asked';
  let isDeserted = false;
  let resolve: (result: Result) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const result = new Promise<Result>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  const timer = setTimeout(onTimer, options.timeoutMs, options.turnsLeft).unref();

  function end(settle: () => void): void {
    if (stage === 'ended') return;
    stage = 'ended';
    clearTimeout(timer);
    options.onEnd();
    settle();
  }

  /** A source that rejects because its signal was aborted has not failed. */
  function fail(errorOf: () => unknown): void {
    end(() => reject(isDeserted ? WAITER_LEFT : errorOf()));
  }

  function finish(raw: Raw): void {
    if (stage === 'ended') return;
    stage = 'answered';
    if (isDeserted) {
      fail(() => WAITER_LEFT);
      return;
    }
    // An async function, so that a thrown error is an outcome, too.
    const make = async (): Promise<Result> => options.finish(raw);
    make().then(
      (made) => end(() => resolve(made)),
      (error) => fail(() => error),
    );
  }

  /** A source that is late has timed out. A result that is late has waited for its turn: too much is asked. */
  function onTimer(turnsLeft: number): void {
    if (stage === 'ended') return;
    if (turnsLeft > 0) setImmediate(onTimer, turnsLeft - 1);
    else if (stage === 'answered') cancel(new MonitorError('overloaded'));
    else {
      options.onDeadline();
      options.abort();
      fail(() => options.fail(new MonitorError('source_timeout')));
    }
  }

  function cancel(error: MonitorError): void {
    options.abort();
    end(() => reject(error));
  }

  // Unlike Promise.resolve, a resolver also catches errors of a thenable that throws.
  new Promise<Raw>((adopt) => adopt(options.pending)).finally(options.onAnswer).then(finish, (error) => {
    fail(() => options.fail(error));
  });

  return {
    result,
    abandon() {
      if (stage === 'ended') return;
      isDeserted = true;
      options.abort();
    },
    cancel,
  };
}
