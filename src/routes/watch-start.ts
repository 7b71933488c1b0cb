/** Reports a source that cannot be reached when the host starts, instead of at the first request. */
import type { Monitor } from '../http/monitor.ts';
import { freshnessOf } from '../read.ts';

const EVERY_MS = 1_000;
/** By then, connecting has failed: it has a deadline. */
const LOOKS = 15;

/** Looks at the sources of tasks until all are connected. What they say of an outage is reported as at a request. */
export function watchStart({ sources, report, beforeClose }: Monitor): void {
  const { tasks } = sources;
  if (tasks === undefined) return;
  let looks = 0;
  const timer = setInterval(() => {
    looks += 1;
    const areUp = freshnessOf(tasks, Date.now(), report).sources.every(({ ok }) => ok);
    if (areUp || looks === LOOKS) clearInterval(timer);
  }, EVERY_MS).unref();
  beforeClose(async () => clearInterval(timer));
}
