/** The reads of one part: those in flight, and those that missed their deadline. */
import type { SharedRead } from './shared-read.ts';

/** The reads of one part. */
export interface PartReads {
  /** Reads in flight, by call and key. */
  readonly shared: Map<string, SharedRead<unknown>>;
  /** Reads without a result at their deadline, and the time of the deadline in monotonic milliseconds. */
  readonly abandoned: Map<object, number>;
}

// A part with this many abandoned reads is not read again until one of them ends ...
const MOST_ABANDONED = 3;
// ... or is older than this many deadlines: its promise may never settle.
const ABANDONED_FOR_DEADLINES = 10;

/** Creates an empty record. */
export function createPartReads(): PartReads {
  return { shared: new Map(), abandoned: new Map() };
}

/** Whether a part must not be read now. */
export function isBlocked({ abandoned }: PartReads, timeoutMs: number): boolean {
  const oldest = performance.now() - timeoutMs * ABANDONED_FOR_DEADLINES;
  for (const [read, since] of abandoned) {
    if (since < oldest) abandoned.delete(read);
  }
  return abandoned.size >= MOST_ABANDONED;
}
