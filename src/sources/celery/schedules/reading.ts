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
  /** Reads, unless the snapshot is fresh; once for concurrent callers. Never rejects. */
  readonly refresh: () => Promise<void>;
}

/** How long a reading is used at least, in milliseconds; and reading takes at most a tenth of the time. */
const FRESH = 1000;
const SHARE = 10;
/** A reading is used no longer than this, in milliseconds: one that took long may have waited for a busy process. */
const LONGEST = 20_000;

/** @param reader `null` if there is nothing to read from */
export function createReading<Snapshot>(reader: { read(): Promise<Snapshot> } | null): Reading<Snapshot> {
  const reading: Reading<Snapshot> = {
    isPossible: reader !== null,
    snapshot: null,
    readAt: null,
    problem: null,
    async refresh() {
      if (performance.now() >= freshUntil) await shared();
    },
  };
  let freshUntil = Number.NEGATIVE_INFINITY;
  const shared = shareCalls(async () => {
    if (reader === null) return;
    const start = performance.now();
    try {
      reading.snapshot = await reader.read();
      reading.readAt = Date.now();
      reading.problem = null;
    } catch (error) {
      reading.problem = problemOf(error);
    }
    const end = performance.now();
    freshUntil = end + Math.min(LONGEST, Math.max(FRESH, (end - start) * SHARE));
  });
  return reading;
}
