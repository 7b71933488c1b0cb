import { shareCalls } from '../../../single-flight.ts';
import { type Problem, problemOf } from '../problem.ts';

/** The state of reading a stored schedule repeatedly. */
export interface Reading<Snapshot> {
  /** Whether there is anything to read from. */
  readonly isPossible: boolean;
  /** The last snapshot; `null` before the first. */
  snapshot: Snapshot | null;
  /** When the snapshot was read, milliseconds since 1970. */
  readAt: number | null;
  /** Why it cannot be read; `null` when it can, or has not been. */
  problem: Problem | null;
  /** Monotonic milliseconds. */
  freshUntil: number;
  /** Reads, unless the snapshot is fresh; once for concurrent callers. Never rejects. */
  readonly refresh: () => Promise<void>;
}

/** How long a reading is used at least, in milliseconds; and reading takes at most a tenth of the time. */
const FRESH = 1000;
const SHARE = 10;

/** @param read reads once; `null` if there is nothing to read from */
export function createReading<Snapshot>(read: (() => Promise<Snapshot>) | null): Reading<Snapshot> {
  const shared = shareCalls(() => readOnce(reading, read));
  const reading: Reading<Snapshot> = {
    isPossible: read !== null,
    snapshot: null,
    readAt: null,
    problem: null,
    freshUntil: Number.NEGATIVE_INFINITY,
    async refresh() {
      if (read !== null && performance.now() >= reading.freshUntil) await shared();
    },
  };
  return reading;
}

async function readOnce<Snapshot>(
  reading: Reading<Snapshot>,
  read: (() => Promise<Snapshot>) | null,
): Promise<void> {
  const start = performance.now();
  try {
    reading.snapshot = (await read?.()) ?? null;
    reading.readAt = Date.now();
    reading.problem = null;
  } catch (error) {
    reading.problem = problemOf(error);
  }
  const end = performance.now();
  reading.freshUntil = end + Math.max(FRESH, (end - start) * SHARE);
}
