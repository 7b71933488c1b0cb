/** The interface of the reader of sources. */
import type { Waiter } from '../scheduler.ts';
import type { OnLeave } from '../single-flight.ts';
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import type { LastAnswers } from './fan-out.ts';
import type { ReadResult } from './read-result.ts';
import type { Report } from './report.ts';

/** One read, and how its result is made. */
export interface ReadTask<Raw, Result> {
  readonly part: SourcePart;
  /** Name of the source method, for error reports. */
  readonly call: string;
  /** The arguments in a canonical form: concurrent reads with the same part, call and key are shared. */
  readonly key: string;
  /** Exempt from the limits on concurrent reads; for calls with limits of their own. Default false. */
  readonly urgent?: boolean;
  /** Identifies the client that asks first: long work of different clients takes turns. Default: nobody. */
  readonly client?: string | undefined;
  /** In milliseconds, at most that of the reader. Default: that of the reader. */
  readonly timeoutMs?: number;
  /** Whether the last data of each part of a combined part is kept, to be shown in an outage. Default false. */
  readonly keepsLast?: boolean;
  read(context: ReadContext): Awaitable<Raw>;
  /**
   * Makes the result, once for all waiters. A thrown MonitorError is the outcome; any other error means that
   * the data is invalid.
   *
   * @param result facts about the read
   * @param waiter who waits; its signal aborts when nobody does any more, so that the work can stop
   */
  map(raw: Raw, result: ReadResult, waiter: Waiter): Awaitable<Result>;
}

/** Reads of all sources. */
export interface Reader {
  /**
   * Reads a source. Synchronous (no promise) when the source is.
   *
   * @param onLeave reports when the client disconnects. Default: it never does
   * @throws MonitorError with the error code of the response, or `CLIENT_GONE`
   */
  read<Raw, Result>(task: ReadTask<Raw, Result>, onLeave?: OnLeave): Awaitable<Result>;
  /** Ends every read as `overloaded`, and refuses later ones. */
  close(): void;
}

/** Bounds of a {@link Reader}. */
export interface ReaderOptions {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Maximum number of concurrent reads; half of them of one part. */
  readonly concurrency: number;
  readonly report: Report;
  /** Last data of the parts of combined parts. Default: none is kept. */
  readonly lastAnswers?: LastAnswers;
  /** Called for each call of a method of a source. Default: nobody counts them. */
  readonly onCall?: ((part: SourcePart, call: string) => void) | undefined;
}
