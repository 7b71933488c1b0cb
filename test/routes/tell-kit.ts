/** Hosts that are told of findings. */
import type { TestContext } from 'vitest';
import type { FindingContext, FindingNotice } from '../../src/findings/on-finding.ts';
import type { StoreEngine } from '../../src/history/store.ts';
import { createMonitor } from '../../src/http/monitor.ts';
import type { MonitorOptions } from '../../src/index.ts';
import { type MemorySources, memorySources } from '../../src/memory.ts';
import { resolveOptions } from '../../src/options/resolve-options.ts';
import { type TellPace, tellFindings } from '../../src/routes/tell-findings.ts';

/** The rules look anew every five seconds in any case. */
export const QUICK: TellPace = { lastingMs: 0, intervalMs: 0, aloneMs: 60_000, everyMs: 20, callMs: 100 };
export const WAIT = { timeout: 30_000, interval: 20 };

/** A queue with a task that has waited for 25 minutes. */
export function backlog(name = 'jobs', store?: StoreEngine): MemorySources {
  const queue = memorySources({ name, ...(store && { store }) });
  fill(queue);
  return queue;
}

export function fill(queue: MemorySources, subject = 'mail'): void {
  const timestamp = Date.now() - 25 * 60_000;
  queue.record({ id: subject, state: 'PENDING', name: 'mail.send', queue: subject, timestamp });
}

/** What a host hears, and the errors that it hears of. */
export function listen(test: TestContext, options: MonitorOptions, pace: Partial<TellPace> = {}) {
  const heard: string[] = [];
  /** What it hears of sources that are away, as any may be on a busy machine. */
  const away: string[] = [];
  const calls: [FindingNotice, FindingContext][] = [];
  const errors: string[] = [];
  const hook = options.onFinding;
  const monitor = createMonitor(
    resolveOptions({
      ...options,
      onFinding(finding: FindingNotice, context: FindingContext) {
        if (finding.code === 'source_down') return void away.push(`${finding.status} ${finding.subject}`);
        calls.push([finding, context]);
        heard.push(`${finding.status} ${finding.source}.${finding.code} ${finding.subject}`);
        return hook?.(finding, context);
      },
      onError: (error: unknown, { call }: { call: string }) => void errors.push(`${call}: ${error}`),
    }),
  );
  tellFindings(monitor, { ...QUICK, ...pace });
  test.onTestFinished(() => monitor.close());
  return { heard, away, calls, errors, monitor };
}

/** What is heard of {@link backlog}. */
export const ONE = ['raised jobs.queue_waiting mail'];
