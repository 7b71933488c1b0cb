/** Asks a route of the host's own, again and again, while something is wrong with the monitor. */
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the host did meanwhile. */
export interface CanaryFigures {
  readonly asked: number;
  /** Answers that were not 200, and errors. */
  readonly failures: readonly string[];
  /** In milliseconds; what a test itself computes in this process counts, too. */
  readonly p99: number;
}

/** Begins to ask. @returns ends it */
export function pollCanary(url: string, everyMs = 10): () => Promise<CanaryFigures> {
  // One connection, so that the figures are those of the host and not of connecting.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const failures: string[] = [];
  let ended = false;

  async function poll(): Promise<void> {
    do {
      const start = performance.now();
      const outcome = await statusOf(`${url}/canary`, agent);
      times.push(performance.now() - start);
      if (outcome !== '200') failures.push(outcome);
      await sleep(everyMs);
    } while (!ended);
  }
  const polling = poll();
  return async () => {
    ended = true;
    await polling;
    agent.destroy();
    const sorted = times.toSorted((a, b) => a - b);
    const p99 = sorted[Math.ceil(0.99 * sorted.length) - 1] ?? 0;
    return { asked: times.length, failures, p99 };
  };
}

function statusOf(url: string, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    get(url, { agent }, (response) => {
      response.on('error', (error) => resolve(String(error)));
      response.on('end', () => resolve(String(response.statusCode))).resume();
    }).on('error', (error) => resolve(String(error)));
  });
}
