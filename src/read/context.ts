import type { FanOut } from '../source/combined-part.ts';
import type { ReadContext } from '../source.ts';
import type { ReadTask } from './read-task.ts';
import type { OnLeave } from './shared-read.ts';

/** A read context that can be aborted. */
export interface Aborting {
  /** Passed to the source; `fanOut` is set for combined parts. `client` identifies the client to the scheduler. */
  readonly context: ReadContext & { fanOut?: FanOut; readonly client: string | undefined };
  abort(): void;
  readonly onAbort: OnLeave;
}

/**
 * Creates a context. The AbortController costs more than a read from memory, so it is created on first use.
 *
 * @param client see {@link ReadTask.client}
 */
export function createContext(client?: string): Aborting {
  let controller: AbortController | null = null;
  let aborted = false;
  const listeners = new Set<() => void>();
  return {
    context: {
      client,
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
