/** Checks now and then whether the broker accepts writes, so that a hint can report that it does not. */
import type { Broker } from './broker.ts';
import type { Problem } from './problem.ts';

const FIRST_MS = 1_000;
const INTERVAL_MS = 15_000;

/** Runs periodically until it is closed. */
export interface BrokerWatch {
  /** Why the broker accepts no writes; `null`: it accepts them, or is unreachable. */
  problem(): Problem | null;
  close(): void;
}

/** Begins at once. */
export function createBrokerWatch(broker: Pick<Broker, 'check'>): BrokerWatch {
  const closing = new AbortController();
  let isBusy = false;
  let found: Problem | null = null;

  async function look(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    const problem = await broker.check(closing.signal);
    isBusy = false;
    found = problem?.code === 'READONLY' ? problem : null;
  }

  const first = setTimeout(() => void look(), FIRST_MS).unref();
  const ticker = setInterval(() => void look(), INTERVAL_MS).unref();
  return {
    problem: () => found,
    close() {
      closing.abort();
      clearTimeout(first);
      clearInterval(ticker);
    },
  };
}
