/** One history in a large memory, and the same one split between a small memory and a store. */
import type { History, HistoryReader, TaskChange } from '../../src/history/history.ts';
import type { MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { StoreEngine, StoreSession } from '../../src/history/store.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { TaskRelation } from '../../src/model.ts';
import { historyOf, T0 } from '../history/telling.ts';
import { AT_ONCE, instanceOf, untilWritten } from './instances.ts';

/** What histories are told, in this order. */
export interface Told {
  readonly changes: readonly TaskChange[];
  readonly relations?: readonly TaskRelation[];
}

/** How a history is split. */
export interface Split {
  /** How many tasks are in memory. */
  readonly kept: number;
  /** The part of the messages after which the store takes no more of them, 0 to 1. */
  readonly written: number;
}

/** A store of which writes of tasks fail while it is full. */
export interface FillingStore extends StoreEngine {
  isFull: boolean;
}

function fillingStore(engine: StoreEngine): FillingStore {
  const sessions = new Map<StoreSession, StoreSession>();
  const store: FillingStore = {
    ...engine,
    isFull: false,
    async open(opening) {
      const session = await engine.open(opening);
      const { tasks } = session;
      const filling: StoreSession = {
        ...session,
        tasks: {
          ...tasks,
          write: async (given) => {
            if (store.isFull) throw Object.assign(new Error('The disk is full.'), { code: 'disk_full' });
            return await tasks.write(given);
          },
        },
      };
      sessions.set(filling, session);
      return filling;
    },
    async close(session) {
      await engine.close(sessions.get(session) ?? session);
    },
  };
  return store;
}

export const WORKERS = ['w1@a', 'w2@b'] as const;
const NOW = { now: () => T0 + 60_000 };

/**
 * Tells a history and a split one the same. Messages of a task that memory has dropped are left out: how these are merged
 * with what is stored is another matter, and takes until the next write.
 */
function hear(
  whole: History,
  split: StoredHistory,
  { changes, relations = [] }: Told,
  seen: Set<string>,
): void {
  for (const change of changes) {
    // Looking for open tasks drops what is beyond the bound.
    split.index.listOpen(1);
    if (seen.has(change.id) && split.index.stateOf(change.id) === null) continue;
    seen.add(change.id);
    for (const { writer } of [whole, split]) writer.recordTask(change);
  }
  for (const relation of relations) for (const { writer } of [whole, split]) writer.recordRelation(relation);
}

/** Reads of the whole history, and of the split one. */
export interface Sides {
  readonly whole: HistoryReader;
  readonly split: StoredHistory;
  close(): Promise<void>;
}

/** @param engine of which the source has no data yet */
export async function splitOf(
  engine: StoreEngine,
  source: string,
  given: Told,
  { kept, written }: Split,
  options: MemoryHistoryOptions = {},
): Promise<Sides> {
  const whole = historyOf([], { ...NOW, ...options });
  const store = fillingStore(engine);
  const split = instanceOf(
    { store, source, deployment: null },
    { ...NOW, maxTasks: kept, ...options },
    AT_ONCE,
  );
  for (const hostname of WORKERS) {
    for (const { writer } of [whole, split]) writer.recordWorker({ type: 'heartbeat', hostname, time: T0 });
  }
  const { changes, relations = [] } = given;
  const [first, others] = [Math.round(changes.length * written), Math.round(relations.length * written)];
  const seen = new Set<string>();
  hear(whole, split, { changes: changes.slice(0, first), relations: relations.slice(0, others) }, seen);
  await untilWritten(split);
  store.isFull = true;
  hear(whole, split, { changes: changes.slice(first), relations: relations.slice(others) }, seen);
  return {
    whole: whole.reader,
    split,
    async close() {
      whole.close();
      store.isFull = false;
      await split.close();
    },
  };
}
