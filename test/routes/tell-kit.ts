/** Hosts that are told of findings, by a clock that is moved by hand. */
import { onTestFinished, vi } from 'vitest';
import type { FindingContext } from '../../src/findings/finding.ts';
import type { StoreEngine } from '../../src/history/store.ts';
import { createMonitorRouter, type FindingNotice, type MonitorOptions } from '../../src/index.ts';
import { type MemorySources, memorySources } from '../../src/memory.ts';

/** How often the rules look, in milliseconds. */
const LOOK_MS = 5_000;

/** Stops the clock until the test is over. */
export function stopClock(): void {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass, and what is due happen. */
export async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= LOOK_MS / 5) {
    await vi.advanceTimersByTimeAsync(Math.min(left, LOOK_MS / 5));
    // Long work pauses for a turn of the event loop.
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  }
}

/** Lets time pass until this holds, at most ten minutes. */
export async function passUntil(condition: () => boolean): Promise<void> {
  for (let looked = 0; !condition(); looked += 1) {
    if (looked === 120) throw new Error('It did not come true within ten minutes.');
    await pass(LOOK_MS);
  }
}

/** A queue with a task that has waited for 20 minutes. */
export function backlog(name = 'jobs', store?: StoreEngine): MemorySources {
  const queue = memorySources({ name, ...(store && { store }) });
  fill(queue);
  return queue;
}

export function fill(queue: MemorySources, subject = 'mail'): void {
  const timestamp = Date.now() - 20 * 60_000;
  queue.record({ id: subject, state: 'PENDING', name: 'mail.send', queue: subject, timestamp });
}

/** What a host hears, and the errors that it hears of. */
export function listen(options: MonitorOptions) {
  const heard: string[] = [];
  /** What it hears of sources that are away, as any may be on a busy machine. */
  const away: string[] = [];
  const calls: [FindingNotice, FindingContext][] = [];
  const errors: string[] = [];
  const hook = options.onFinding;
  const router = createMonitorRouter({
    authorize: false,
    ...options,
    onFinding(finding, context) {
      if (finding.code === 'source_down') return void away.push(`${finding.status} ${finding.subject}`);
      calls.push([finding, context]);
      heard.push(`${finding.status} ${finding.source}.${finding.code} ${finding.subject}`);
      return hook?.(finding, context);
    },
    onError: (error, { call }) => void errors.push(`${call}: ${error}`),
  });
  const close = async (): Promise<void> => {
    const closed = router.close();
    await pass(2_000);
    await closed;
  };
  onTestFinished(close);
  return { heard, away, calls, errors, close };
}

/** What is heard of {@link backlog}. */
export const ONE = ['raised jobs.queue_waiting mail'];
