import { MonitorError } from '../errors.ts';

/** What the last scrape says of the exporter. */
export interface Reachability {
  /** Learns from a scrape's outcome. */
  observe(outcome: unknown): void;
  /** Whether the exporter answers, `null` where that cannot be told (yet). Never rejects. */
  check(probe: () => Promise<unknown>): Promise<boolean | null>;
}

// A verdict this young is not asked for again; one this old is no longer shown.
const FRESH_MS = 5_000;
const OLD_MS = 30_000;
// A page of components does not wait for a slow exporter: the scrape goes on and the next page knows.
const WAIT_MS = 1_000;

/** @param now milliseconds of a clock that never jumps */
export function createReachability(now: () => number = () => performance.now()): Reachability {
  let verdict: { readonly ok: boolean; readonly at: number } | null = null;
  let probing: Promise<boolean | null> | null = null;

  function last(within: number): boolean | null {
    return verdict !== null && now() - verdict.at < within ? verdict.ok : null;
  }

  return {
    observe(outcome) {
      // Being overloaded is our own trouble and says nothing about the exporter.
      if (outcome instanceof MonitorError && outcome.code === 'overloaded') return;
      verdict = { ok: !(outcome instanceof MonitorError), at: now() };
    },
    async check(probe) {
      const known = last(FRESH_MS);
      if (known !== null) return known;
      probing ??= probe()
        .then(
          () => last(OLD_MS),
          () => last(OLD_MS),
        )
        .finally(() => {
          probing = null;
        });
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<boolean | null>((resolve) => {
        timer = setTimeout(() => resolve(last(OLD_MS)), WAIT_MS);
        timer.unref();
      });
      return Promise.race([probing, patience]).finally(() => clearTimeout(timer));
    },
  };
}
