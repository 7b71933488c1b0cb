import type { Control } from './control.ts';

/** All in milliseconds. A worker reports that it is online a moment before it listens. */
const FIRST_PAUSE = 500;
const NEXT_PAUSE = 2000;
const OFF_PAUSE = 10_000;
const MAX_ATTEMPTS = 5;
const MAX_WAITING = 10_000;

/** Enables task events, for a host that asked for it. */
export interface EventEnabler {
  /** To be called for each `worker-online`: a worker that restarts or reconnects forgets it. */
  workerOnline(hostname: string): void;
  close(): void;
}

/** Asks all workers to send task events, and again when one comes online. */
export function createEventEnabler(control: Control): EventEnabler {
  /** Workers that have not yet confirmed it, and how often they were asked. */
  const waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isAsked = false;
  let closed = false;

  function schedule(ms: number): void {
    if (closed || timer !== undefined) return;
    timer = setTimeout(() => void attempt(), ms).unref();
  }

  async function attempt(): Promise<void> {
    const asked = [...waiting.keys()];
    const replies = await control.enableEvents();
    timer = undefined;
    if (replies === null) return schedule(OFF_PAUSE);
    isAsked = true;
    for (const name of asked) {
      const attempts = (waiting.get(name) ?? 0) + 1;
      if (replies.values.has(name) || attempts >= MAX_ATTEMPTS) waiting.delete(name);
      else waiting.set(name, attempts);
    }
    if (waiting.size > 0) schedule(NEXT_PAUSE);
  }

  schedule(0);
  return {
    workerOnline(hostname) {
      if (waiting.size < MAX_WAITING) waiting.set(hostname, 0);
      // The first attempt includes the workers that come online before it.
      if (isAsked) schedule(FIRST_PAUSE);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
