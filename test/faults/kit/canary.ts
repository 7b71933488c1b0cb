/** Asks a route of the host's own, again and again, while something is wrong with the monitor. */
import { Worker } from 'node:worker_threads';

/** How the host did meanwhile. */
export interface CanaryFigures {
  readonly asked: number;
  /** Answers that were not 200, and errors. */
  readonly failures: readonly string[];
  /** In milliseconds; what a test itself computes in the process of the host counts, too. */
  readonly p99: number;
  /** Of a bare route in a process that does nothing else, asked in turns with the host's. */
  readonly bareP99: number;
}

let thread: Worker | null = null;
let polls = 0;

/** Begins to ask. @returns ends it */
export function pollCanary(url: string): () => Promise<CanaryFigures> {
  const asking = startThread();
  const poll = ++polls;
  asking.postMessage({ poll, url });
  return () =>
    new Promise((resolve) => {
      const read = (told: CanaryFigures & { readonly poll: number }): void => {
        if (told.poll !== poll) return;
        asking.off('message', read);
        asking.unref();
        resolve(told);
      };
      asking.ref();
      asking.on('message', read);
      asking.postMessage({ poll });
    });
}

/** One for all cases of a file: a case leaves nothing of it behind. */
function startThread(): Worker {
  if (thread === null) {
    thread = new Worker(new URL('./canary-thread.mjs', import.meta.url));
    thread.unref();
  }
  return thread;
}
