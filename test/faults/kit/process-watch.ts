/** What a case must leave as it found it in the process: the host's. */
import { expect } from 'vitest';
import { until } from '../../helpers/redis-server.ts';

/** What is watched. `getActiveResourcesInfo` also names reads of files and the like, which come and go. */
const KINDS = /^(?:TCP|Pipe|TLS|Timeout|Process|Signal|UDP)/;

/** Watches the process from now on. */
export interface ProcessWatch {
  /** Resolves when all is as before, nothing escaped and nothing was warned of; rejects when not. */
  settled(): Promise<void>;
}

/** @param settleMs how long what was opened may take to be gone */
export function watchProcess(settleMs = 20_000): ProcessWatch {
  const before = counts();
  const escaped: string[] = [];
  const collect = (what: string) => (reason: unknown) => void escaped.push(`${what}: ${String(reason)}`);
  const listeners = {
    unhandledRejection: collect('unhandledRejection'),
    uncaughtException: collect('uncaughtException'),
    // Without `onError`, the library prints what the host can mend as a warning of its own.
    warning: (warning: Error) => {
      if (warning.name !== 'ExpressTaskMonitorWarning') collect('warning')(warning);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) process.on(name, listener);
  return {
    async settled() {
      for (const [name, listener] of Object.entries(listeners)) process.off(name, listener);
      expect(escaped).toEqual([]);
      // What is being closed takes a moment to be gone; what leaks stays.
      await until(() => leaked(before).length === 0, settleMs).catch(() => {});
      expect(leaked(before)).toEqual([]);
    },
  };
}

/** How many there are of each kind: open sockets, servers, timers that keep the process, and listeners. */
function counts(): Map<string, number> {
  const found = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo().filter((name) => KINDS.test(name))) {
    found.set(kind, (found.get(kind) ?? 0) + 1);
  }
  for (const name of process.eventNames()) {
    found.set(`listener of ${String(name)}`, process.listenerCount(name));
  }
  return found;
}

function leaked(before: ReadonlyMap<string, number>): string[] {
  return [...counts()]
    .filter(([kind, count]) => count > (before.get(kind) ?? 0))
    .map(([kind, count]) => `${kind}: ${before.get(kind) ?? 0} before, ${count} after`);
}
