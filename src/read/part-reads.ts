/** The reads of one part: those in flight, and those that missed their deadline. */
import type { SharedRead } from './shared-read.ts';

/** The reads of one part. */
export interface PartReads {
  /** Reads in flight, by call and key. */
  readonly shared: Map<string, SharedRead<unknown>>;
  /** Reads without a result at their deadline. A read that answers in time clears them. */
  readonly abandoned: Set<object>;
  /** When the latest read was abandoned, or tried although the part is blocked, in monotonic milliseconds. */
  triedAt: number;
}

/** A part with this many abandoned reads is read only to try whether it answers again. */
const MOST_ABANDONED = 3;
/** Time between two tries, in milliseconds. */
const RETRY_MS = 1_000;

/** Creates an empty record. */
export function createPartReads(): PartReads {
  return { shared: new Map(), abandoned: new Set(), triedAt: 0 };
}

/** Notes a read that missed its deadline. Its promise may never settle, so only the latest are kept. */
export function abandon(reads: PartReads, read: object): void {
  const { abandoned } = reads;
  const [oldest] = abandoned;
  if (oldest !== undefined && abandoned.size >= MOST_ABANDONED) abandoned.delete(oldest);
  abandoned.add(read);
  reads.triedAt = performance.now();
}

/** Whether a part must not be read now. When it may be tried again, this read is the try. */
export function isBlocked(reads: PartReads): boolean {
  if (reads.abandoned.size < MOST_ABANDONED) return false;
  const now = performance.now();
  if (now - reads.triedAt < RETRY_MS) return true;
  reads.triedAt = now;
  return false;
}
