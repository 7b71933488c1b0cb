/**
 * A connection to a server that is opened again whenever it ends. Each attempt is new: clients do not reconnect after
 * every error, and do not notice that the other side is gone.
 */
import { createProblemLog, type Problems, type ServerProblem } from './server-problems.ts';
import { pause } from './waiting.ts';

/** Longest wait for the closing handshake, in milliseconds: a frozen server does not answer it. */
const CLOSE_MS = 1_000;

/** How a connection is doing. Times in milliseconds since 1970. */
export interface ConnectionState<P extends ServerProblem = ServerProblem> {
  readonly up: boolean;
  /** When the connection was last known to work; `null` if it never did. */
  readonly asOf: number | null;
  /** Since when it has been up; `null` while it is down. */
  readonly since: number | null;
  /** How often it was re-established after it had been lost. */
  readonly reconnects: number;
  /** Why it is down; `null` while it is up, or before the first attempt has ended. */
  readonly problem: P | null;
}

/** Before the first attempt has ended. */
export const NOT_CONNECTED: ConnectionState<never> = {
  up: false,
  asOf: null,
  since: null,
  reconnects: 0,
  problem: null,
};

/** One attempt to connect, and the connection that it has opened. */
export interface Attempt {
  /** Aborted at its end: everything that is open then, or being opened, must end. */
  readonly signal: AbortSignal;
  /** Ends it, and another one follows. */
  readonly fail: (reason: unknown) => void;
  /** Counts as a sign of life, as the answer to a ping does. */
  readonly heard: () => void;
}

/** How to reach one kind of server, and what a connection to it is for. */
export interface ConnectionDriver<Opened> {
  /** Label for the log. */
  readonly label: string;
  /** Connects, logs in and subscribes. Whatever it opens must end with the attempt's signal. */
  open(attempt: Attempt): Promise<Opened>;
  /** Asks for a sign of life. Absent: nothing is asked. */
  readonly ping?: ((opened: Opened) => Promise<unknown>) | undefined;
  /** Closes it as the protocol wants. */
  close(opened: Opened): Promise<unknown>;
  readonly problems: Pick<Problems, 'describe' | 'errorOf' | 'failure' | 'inTime'>;
  /** All in milliseconds: longest time to open, and between two pings; so many without an answer end the connection. */
  readonly times: { readonly open: number; readonly ping: number; readonly silentPings: number };
  /** @param failures attempts that failed since it was last up. @returns milliseconds until the next one */
  pauseAfter(failures: number): number;
  /** @param again whether it had been up before */
  readonly onUp?: ((opened: Opened, again: boolean) => void) | undefined;
  /** Whenever an attempt has ended, before {@link ConnectionDriver.onDown}. @param wasUp whether it had succeeded */
  readonly onEnd?: (wasUp: boolean) => void;
  /** @param asOf when it was last known to work */
  readonly onDown?: ((asOf: number) => void) | undefined;
}

/** A connection that reconnects until it is closed. */
export class KeptConnection<Opened> {
  readonly #driver: ConnectionDriver<Opened>;
  readonly #log: (problem: ServerProblem) => void;
  /** Aborted by `close()`. Ends the pause between attempts. */
  readonly #closing = new AbortController();
  /** Resolves when the first attempt has succeeded or ended. */
  readonly #first: Promise<void>;
  #settle: () => void = () => {};
  #state: ConnectionState = NOT_CONNECTED;
  #opened: Opened | null = null;
  #failures = 0;
  /** Ends the present attempt. */
  #fail: (reason: unknown) => void = () => {};
  /** Resolves when no further attempt is made. */
  #ran: Promise<void> | null = null;

  constructor(driver: ConnectionDriver<Opened>) {
    this.#driver = driver;
    this.#log = createProblemLog(driver.label);
    this.#first = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Connects, unless it has been started. */
  start(): this {
    if (!this.#closing.signal.aborted) this.#ran ??= this.#keepOpen();
    return this;
  }

  state(): ConnectionState {
    return this.#state;
  }

  /**
   * What was opened, once the first attempt has ended. Starts it.
   *
   * @throws the problem of the last attempt while the server is unreachable
   */
  async opened(
    limits: { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number } = {},
  ): Promise<Opened> {
    const { errorOf, failure, inTime } = this.#driver.problems;
    this.start();
    const { signal, timeoutMs: ms } = limits;
    await inTime(this.#first, { ms, signal });
    if (this.#closing.signal.aborted) throw errorOf('CLOSED');
    if (this.#opened !== null) return this.#opened;
    throw this.#state.problem === null ? errorOf('TimeoutError') : failure(this.#state.problem);
  }

  /** Resolves within about a second, even if the server does not answer. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#opened !== null) await closeGently(this.#driver, this.#opened);
    this.#fail(this.#driver.problems.errorOf('CLOSED'));
    await this.#ran;
    this.#settle();
  }

  async #keepOpen(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#run();
      } catch (error) {
        this.#noteEnd(this.#driver.problems.describe(error));
      }
      if (!signal.aborted) await pause(this.#driver.pauseAfter(this.#failures), signal);
    }
  }

  /** Rejects with the reason when the attempt has ended, whatever ended it, and nothing is left open. */
  async #run(): Promise<never> {
    const { times, problems } = this.#driver;
    const ended = new AbortController();
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    failed.catch(() => {});
    const silence = { pings: 0 };
    const late = setTimeout(this.#fail, times.open, problems.errorOf('TimeoutError')).unref();
    let pings: NodeJS.Timeout | undefined;
    try {
      const heard = (): void => {
        silence.pings = 0;
      };
      const opening = this.#driver.open({ signal: ended.signal, fail: this.#fail, heard });
      opening.catch(() => {});
      const opened = await Promise.race([failed, opening]);
      clearTimeout(late);
      pings = this.#startPings(opened, silence);
      this.#noteUp(opened);
      return await failed;
    } finally {
      clearTimeout(late);
      clearInterval(pings);
      ended.abort();
    }
  }

  /** Silence is counted in intervals: a host that blocks its event loop loses one of them, not the connection. */
  #startPings(opened: Opened, silence: { pings: number }): NodeJS.Timeout | undefined {
    const { ping, times, problems } = this.#driver;
    if (ping === undefined) return undefined;
    const fail = this.#fail;
    let isWaiting = false;
    return setInterval(() => {
      if (isWaiting) {
        silence.pings += 1;
        if (silence.pings >= times.silentPings) fail(problems.errorOf('TimeoutError'));
        return;
      }
      isWaiting = true;
      const askedAt = Date.now();
      ping(opened).then(() => {
        isWaiting = false;
        silence.pings = 0;
        this.#state = { ...this.#state, asOf: askedAt };
      }, fail);
    }, times.ping).unref();
  }

  #noteUp(opened: Opened): void {
    const again = this.#state.asOf !== null;
    const now = Date.now();
    const reconnects = this.#state.reconnects + (again ? 1 : 0);
    this.#state = { up: true, asOf: now, since: now, reconnects, problem: null };
    this.#opened = opened;
    this.#failures = 0;
    this.#settle();
    this.#driver.onUp?.(opened, again);
  }

  #noteEnd(problem: ServerProblem): void {
    const { up, asOf } = this.#state;
    this.#opened = null;
    this.#state = { ...this.#state, up: false, since: null, problem };
    this.#failures = up ? 0 : this.#failures + 1;
    this.#driver.onEnd?.(up);
    this.#settle();
    if (this.#closing.signal.aborted) return;
    this.#log(problem);
    if (up && asOf !== null) this.#driver.onDown?.(asOf);
  }
}

async function closeGently<Opened>(
  { close }: { readonly close: (opened: Opened) => Promise<unknown> },
  opened: Opened,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<void>((resolve) => {
    // Not unreferenced: a caller that awaits our `close()` must get a result.
    timer = setTimeout(resolve, CLOSE_MS);
  });
  // It may have closed itself.
  await Promise.race([close(opened).catch(() => {}), grace]);
  clearTimeout(timer);
}
