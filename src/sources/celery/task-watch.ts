/** Asks the workers which tasks they have where no event reports them, and finds tasks that are nowhere. */
import type { CollectedHistory } from '../../history/history.ts';
import type { Running } from './control/running.ts';

/** All in milliseconds. */
const TICK = 10_000;
/** A message is on its way for a moment, and queues are read about once a second. */
const SETTLED = 30_000;
/** A task that was found nowhere is looked for again this much later. */
const AGAIN = 120_000;
/** Most open tasks checked, and tasks searched for, at once. */
const MAX_OPEN = 5_000;
const MAX_LOOKED_FOR = 500;

/** What the watch asks. */
export interface TaskWatchOptions {
  readonly history: CollectedHistory;
  /** Asks the workers and records what runs; `null` when they could not be asked. */
  readonly running: () => Promise<Running | null>;
  /** Whether a message of this task waits or is held by a worker; `null` when that cannot be known. */
  readonly isQueued: (id: string) => boolean | null;
  /** Looks up stored results and records them. */
  readonly lookUp: (ids: string[]) => Promise<unknown>;
  /** Whether there are workers that send no events. */
  readonly isBlind: () => boolean;
}

/** Runs by itself until it is closed. */
export interface TaskWatch {
  /** Something may have been missed: the workers are asked soon. */
  askSoon(): void;
  close(): void;
}

/**
 * A task is nowhere (`never_received`) when it was sent a while ago, is in no queue, is held by no worker
 * and has no result, and all three could be asked.
 */
export function createTaskWatch(options: TaskWatchOptions): TaskWatch {
  const { history, running, isQueued, lookUp, isBlind } = options;
  /** When each task that was not found may be searched for again, in monotonic milliseconds. */
  const lookedFor = new Map<string, number>();
  let isWanted = true;
  let isBusy = false;
  let closed = false;

  function candidates(): string[] {
    const now = performance.now();
    for (const [id, until] of lookedFor) if (until <= now) lookedFor.delete(id);
    const settled = Date.now() - SETTLED;
    return history.index
      .listOpen(MAX_OPEN)
      .filter(({ id, state, heardAt }) => state === 'PENDING' && heardAt < settled && !lookedFor.has(id))
      .map(({ id }) => id)
      .filter((id) => isQueued(id) === false)
      .slice(0, MAX_LOOKED_FOR);
  }

  async function look(): Promise<void> {
    const ids = candidates();
    if (ids.length === 0 && !isWanted && !isBlind()) return;
    const held = await running();
    if (held === null) return;
    isWanted = false;
    // Reserved messages are still in the broker, where they have been counted.
    if (!held.complete.includes('active')) return;
    const lost = ids.filter((id) => !held.tasks.has(id));
    if (lost.length === 0) return;
    await lookUp(lost);
    for (const id of lost) {
      if (closed || history.index.stateOf(id) !== 'PENDING' || isQueued(id) !== false) continue;
      history.writer.recordMissing(id, true);
      lookedFor.set(id, performance.now() + AGAIN);
    }
  }

  async function tick(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    try {
      await look();
    } catch {
      // The broker is away. What could be missed is asked for when it is back.
    } finally {
      isBusy = false;
    }
  }

  const first = setTimeout(() => void tick(), 1_000).unref();
  const ticker = setInterval(() => void tick(), TICK).unref();
  return {
    askSoon() {
      isWanted = true;
    },
    close() {
      closed = true;
      clearTimeout(first);
      clearInterval(ticker);
    },
  };
}
