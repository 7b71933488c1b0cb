/** Counts over time in a store: written by the instance that writes, folded and dropped by the holder of the lease. */
import type { MemoryAccess } from '../../memory/tap.ts';
import type { RollupStore } from '../../rollup-store.ts';
import { DAY_MS, dropRollups, foldRollups, HOUR_MS } from './rollup-folder.ts';
import {
  createRollupWriter,
  loadCounts,
  type RollupWriter,
  skipCounts,
  writeCounts,
} from './rollup-writer.ts';

/** What an instance does now. */
export interface RollupRole {
  /** Whether it writes what it counts. */
  readonly writes: boolean;
  /** Whether another instance does, so that it is not written here. */
  readonly leaves: boolean;
  /** Whether it folds: it holds the lease. */
  readonly folds: boolean;
  /** Whether it also drops old cells. */
  readonly drops: boolean;
}

/** The rollups of one source, as far as this instance counts. */
export interface Rollups {
  /**
   * Loads, writes, folds and drops what is due. To be called every 10 s, when the role changes, and before the end. One
   * call runs at a time: a later one waits for it. Rejects with what the store throws; the next call does the rest.
   */
  turn(role: RollupRole): Promise<void>;
  /** This instance receives messages from now on: what others have counted so far is loaded again. */
  restart(): void;
}

/** Parameters of {@link createRollups}. */
export interface RollupsOptions {
  readonly store: RollupStore;
  readonly access: Pick<MemoryAccess, 'counts' | 'isWatched'>;
  /** The instance that counts; `''` if one at a time receives everything. */
  readonly writer: string;
  readonly rollupDays: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The clock of the database. */
  readonly storeClock: () => number;
}

interface RollupsState extends RollupsOptions {
  own: RollupWriter | null;
  /** When everything was last compared, and when recent spans were; `-Infinity`: this instance did not hold the lease. */
  foldedAllAt: number;
  foldedAt: number;
}

/** How often recent spans are folded, in milliseconds. */
const FOLD_MS = 60_000;
/** Spans that usually still change, in milliseconds. */
const RECENT_MS = 3 * HOUR_MS;

/** Nothing is read before the first turn. Without counts that are kept, nothing is ever written. */
export function createRollups(options: RollupsOptions): Rollups {
  const state: RollupsState = {
    ...options,
    own: newWriter(options),
    foldedAllAt: Number.NEGATIVE_INFINITY,
    foldedAt: Number.NEGATIVE_INFINITY,
  };
  let running: Promise<void> = Promise.resolve();
  return {
    turn(role) {
      running = running.catch(() => {}).then(() => turn(state, role));
      return running;
    },
    restart() {
      state.own = newWriter(options);
    },
  };
}

function newWriter({ access, ...options }: RollupsOptions): RollupWriter | null {
  const { counts, isWatched } = access;
  const { kept } = counts;
  return kept === null ? null : createRollupWriter({ ...options, counts, kept, isWatched });
}

async function turn(state: RollupsState, { writes, leaves, folds, drops }: RollupRole): Promise<void> {
  const { own } = state;
  if (own !== null) {
    if (!own.isLoaded) await loadCounts(own);
    if (writes) await writeCounts(own);
    else if (leaves) skipCounts(own);
  }
  if (folds) await fold(state, drops);
  else state.foldedAllAt = Number.NEGATIVE_INFINITY;
}

async function fold(state: RollupsState, drops: boolean): Promise<void> {
  const { store, rollupDays, clock } = state;
  const now = clock();
  if (now - state.foldedAllAt >= HOUR_MS || now < state.foldedAllAt) {
    await foldRollups(store, now - rollupDays * DAY_MS, now);
    if (drops) await dropRollups(store, rollupDays, now);
    state.foldedAllAt = now;
    state.foldedAt = now;
  } else if (now - state.foldedAt >= FOLD_MS) {
    await foldRollups(store, now - RECENT_MS, now);
    state.foldedAt = now;
  }
}

/** Since when there are counts; `null`: there are none. Rejects with what the store throws. */
export async function countedSince(store: RollupStore, now: number, days: number): Promise<Date | null> {
  const all = { level: 0, names: [], queues: [], workers: [] } as const;
  const from = now - (days + 1) * DAY_MS;
  for (const span of [86_400, 3_600, 60] as const) {
    const [cell] = await store.read({ ...all, span, from, to: now }, 1);
    if (cell !== undefined) return new Date(cell.start);
  }
  return null;
}
