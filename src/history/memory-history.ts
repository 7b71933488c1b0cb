/** A history in this process's memory. */
import type { History } from './history.ts';
import { createMemoryAccess, type MemoryAccess } from './memory/memory-access.ts';
import { createMemoryReader } from './memory/memory-reader.ts';
import {
  catchUp,
  clear,
  createMemoryState,
  type MemoryHistoryOptions,
  packOldest,
} from './memory/memory-state.ts';
import { createMemoryIndex, createMemoryWriter } from './memory/memory-writer.ts';
import { createRecorder } from './memory/task-recorder.ts';

export type { MemoryHistoryOptions } from './memory/memory-state.ts';

/** How often old tasks are evicted without reads, in milliseconds. */
const EVICTION_INTERVAL_MS = 10_000;

/** A history in memory, with its interface for the code that stores it. */
export interface MemoryHistory extends History {
  readonly access: MemoryAccess;
}

/**
 * Makes a history in memory, of one process. Its content is lost when the process ends.
 *
 * @throws TypeError for an option out of its bounds
 */
export function createMemoryHistory(options: MemoryHistoryOptions = {}): MemoryHistory {
  const state = createMemoryState(options);
  const recorder = createRecorder({ ...state, packOldest: () => packOldest(state) });
  const timer = setInterval(() => catchUp(state), EVICTION_INTERVAL_MS);
  timer.unref();
  const reader = createMemoryReader(state, recorder.lag);
  return {
    writer: createMemoryWriter(state, recorder),
    index: createMemoryIndex(state),
    reader,
    access: createMemoryAccess(state, recorder, reader),
    onEvent(listener) {
      state.listeners.add(listener);
      return () => void state.listeners.delete(listener);
    },
    close() {
      if (state.isClosed) return;
      state.isClosed = true;
      clearInterval(timer);
      clear(state);
    },
  };
}
