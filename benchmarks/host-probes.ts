/** How the host benchmark observes a host from outside, in a process that does nothing else. */
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for answers after a load has ended. */
export const PATIENCE_MS = 20_000;
/** A list is normal when it is answered within this. */
const NORMAL_MS = 250;

/** Milliseconds until an answer arrived; with its status and length. */
export async function askOnce(
  url: string,
  agent?: Agent,
): Promise<{ ms: number; status: number; bytes: number }> {
  const start = performance.now();
  return new Promise((resolve) => {
    const done = (status: number, bytes: number) => resolve({ ms: performance.now() - start, status, bytes });
    const request = get(url, agent === undefined ? {} : { agent }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('end', () => done(response.statusCode ?? 0, bytes));
      response.on('error', () => done(0, bytes));
    });
    request.setTimeout(PATIENCE_MS, () => request.destroy());
    request.on('error', () => done(0, 0));
  });
}

/**
 * Sends requests at an even rate, whether or not answers arrive. @returns stops it, and resolves with the times of all
 */
export function askEvenly(url: string, everyMs: number): () => Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 500 });
  const asked: Promise<{ ms: number }>[] = [];
  const timer = setInterval(() => void asked.push(askOnce(url, agent)), everyMs);
  return async () => {
    clearInterval(timer);
    const answers = await Promise.all(asked);
    agent.destroy();
    return answers.map(({ ms }) => ms);
  };
}

/** Largest resident size of a process, read from outside. @returns stops it; NaN where /proc is missing */
export function watchMemory(pid: number | undefined): () => number {
  let most = Number.NaN;
  const look = (): void => {
    try {
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      most = Math.max(Number.isNaN(most) ? 0 : most, Number(kilobytes) / 1_000);
    } catch {
      // Not Linux.
    }
  };
  look();
  const timer = setInterval(look, 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

/** Seconds until a list is answered as usual; `null` if not within the patience. */
export async function secondsUntilNormal(url: string): Promise<number | null> {
  const start = performance.now();
  while (performance.now() - start < PATIENCE_MS) {
    const asked = performance.now();
    const { ms, status } = await askOnce(url);
    if (status === 200 && ms < NORMAL_MS) return (asked - start) / 1_000;
    await sleep(50);
  }
  return null;
}
