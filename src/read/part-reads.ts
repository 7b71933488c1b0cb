/** The reads of one part that are under way, and those that it never answered in time. */
import type { SharedRead } from './shared-read.ts';

/** The reads of one part. */
export interface PartReads {
  /** Those under way, by call and key. */
  readonly shared: Map<string, SharedRead<unknown>>;
  /** Those that the part has not answered by their deadline, and when that was, in monotonic milliseconds. */
  readonly abandoned: Map<object, number>;
}

// A part with this many abandoned reads is not asked again before one of them ends ...
const MOST_ABANDONED = 3;
// ... or is older than this many deadlines: a source that lost a promise for good gets another chance.
const ABANDONED_FOR_DEADLINES = 10;

export function createPartReads(): PartReads {
  return { shared: new Map(), abandoned: new Map() };
}

/** Whether a part must not be asked now. */
export function isBlocked({ abandoned }: PartReads, timeoutMs: number): boolean {
  const oldest = performance.now() - timeoutMs * ABANDONED_FOR_DEADLINES;
  for (const [read, since] of abandoned) {
    if (since < oldest) abandoned.delete(read);
  }
  return abandoned.size >= MOST_ABANDONED;
}
