import { MonitorError } from '../errors.ts';
import { createSingleFlight } from '../single-flight.ts';
import { waitFor } from '../waiting.ts';

/** Whether the exporter is reachable, judged by the latest scrape. */
export interface Reachability {
  /** Records the outcome of a scrape: a reply or a {@link MonitorError}. */
  observe(outcome: unknown): void;
  /**
   * Whether the exporter responds; `null` while that is unknown. Starts a scrape with `probe` when the latest
   * outcome is not fresh. Never rejects.
   */
  check(probe: () => Promise<unknown>): Promise<boolean | null>;
}

// A result younger than FRESH_MS is not checked again; a result older than OLD_MS is not shown.
const FRESH_MS = 5_000;
const OLD_MS = 30_000;
// The components page does not wait longer for a slow exporter. The scrape continues, and the next page shows
// its result.
const WAIT_MS = 1_000;

/** @param now monotonic clock in milliseconds. Default: `performance.now()` */
export function createReachability(now: () => number = () => performance.now()): Reachability {
  let verdict: { readonly ok: boolean; readonly at: number } | null = null;
  const probes = createSingleFlight<unknown>();

  function last(within: number): boolean | null {
    return verdict !== null && now() - verdict.at < within ? verdict.ok : null;
  }

  return {
    observe(outcome) {
      // `overloaded` is a limit of the monitor and says nothing about the exporter.
      if (outcome instanceof MonitorError && outcome.code === 'overloaded') return;
      verdict = { ok: !(outcome instanceof MonitorError), at: now() };
    },
    async check(probe) {
      const known = last(FRESH_MS);
      if (known !== null) return known;
      await waitFor(
        probes.run('', () => ({ result: probe() })),
        { ms: WAIT_MS },
      );
      return last(OLD_MS);
    },
  };
}
