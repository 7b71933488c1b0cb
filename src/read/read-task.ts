/** What the reader of sources takes and gives. */
import type { Awaitable, ReadContext, SourcePart } from '../source.ts';
import type { LastAnswers } from './fan-out.ts';
import type { ReadResult } from './read-result.ts';
import type { Report } from './report.ts';
import type { OnLeave } from './shared-read.ts';

/** One read, and what is made of it. */
export interface ReadTask<Raw, Result> {
  readonly part: SourcePart;
  /** Name of the method, for reports. */
  readonly call: string;
  /** Its arguments in a canonical form: reads of one part, call and key are one read. */
  readonly key: string;
  /** Not held back when too many reads are under way; for what bounds itself. */
  readonly urgent?: boolean;
  /** Milliseconds, less than those of the reader. Default: those. */
  readonly timeoutMs?: number;
  /** Whether a combined part's parts leave their last answers for an outage. Default false. */
  readonly keepsLast?: boolean;
  read(context: ReadContext): Awaitable<Raw>;
  /**
   * Makes the result, once for all who wait. A MonitorError that it throws is the outcome; anything else
   * means that the data is not what it should be.
   *
   * @param result what is known of the answer beside it
   */
  map(raw: Raw, result: ReadResult): Result;
}

/** Reads of all sources. */
export interface Reader {
  /**
   * The result, at once (no promise) when the source answers at once.
   *
   * @param onLeave tells when this client leaves. Left out: it stays.
   * @throws MonitorError with the code to answer with, or `CLIENT_GONE`
   */
  read<Raw, Result>(task: ReadTask<Raw, Result>, onLeave?: OnLeave): Awaitable<Result>;
  /** Ends every read as `overloaded`, and refuses later ones. */
  close(): void;
}

/** Bounds of a {@link Reader}. */
export interface ReaderOptions {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Most reads at once. */
  readonly concurrency: number;
  /** Most of them of one part. */
  readonly perPart: number;
  readonly report: Report;
  /** What parts of combined parts last answered. Default: nothing is kept. */
  readonly lastAnswers?: LastAnswers;
}
