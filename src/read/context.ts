import type { FanOut } from '../source/combined-part.ts';
import type { ReadContext } from '../source.ts';
import type { OnLeave } from './shared-read.ts';

/** A read context that can be aborted. */
export interface Aborting {
  /** Passed to the source; `fanOut` is set for combined parts. */
  readonly context: ReadContext & { fanOut?: FanOut };
  abort(): void;
  readonly onAbort: OnLeave;
}

/** Creates a context. The AbortController costs more than a read from memory, so it is created on first use. */
export function createContext(): Aborting {
  let controller: AbortController | null = null;
  let aborted = false;
  const listeners = new Set<() => void>();
  return {
    context: {
      get signal() {
        controller ??= new AbortController();
        if (aborted) controller.abort();
        return controller.signal;
      },
    },
    abort() {
      aborted = true;
      controller?.abort();
      for (const listener of [...listeners]) listener();
    },
    onAbort(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
