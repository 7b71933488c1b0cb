import type { QueueHistory } from '../../src/history/aggregate/queue-history.ts';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryState } from '../../src/history/memory/memory-state.ts';
import { createMemoryWriter } from '../../src/history/memory/memory-writer.ts';
import { createRecorder } from '../../src/history/memory/task-recorder.ts';
import type { RollupLevel, RollupSpan, StoredRollup } from '../../src/history/rollup-store.ts';
import type { StoreSession } from '../../src/history/store.ts';
import { createRollups } from '../../src/history/stored/rollups/create-rollups.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { told } from './telling.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The beginning of a day. */
export const START = Date.UTC(2026, 10, 20);

/** A store and a clock that several instances share. */
export interface RollupsKit {
  readonly store: ArrayStore;
  readonly session: StoreSession;
  /** Moves the clock to so many minutes after {@link START}. */
  moveTo(minute: number): void;
  now(): number;
  /** Starts an instance. @param writer `''`: all instances hear the same */
  instance(writer?: string): CountingInstance;
  /** What is stored. */
  cells(span: RollupSpan, level: RollupLevel): StoredRollup[];
  /** How many tasks have succeeded by what is stored, by minute of {@link START}. */
  succeeded(span?: RollupSpan): Map<number, number>;
}

/** A process that counts. */
export interface CountingInstance {
  record(...changes: readonly TaskChange[]): void;
  recordQueue(queue: string, waiting: number, oldestDueAt: number | null, isAtLeast?: boolean): void;
  write(isHolder?: boolean): Promise<void>;
  skip(): Promise<void>;
  /** Queues over time, by what it has in memory. */
  readonly queues: QueueHistory;
  /** How many tasks of a name have succeeded, by what it has in memory. */
  succeeded(name: string): number;
}

export async function rollupsKit(rollupDays = 90): Promise<RollupsKit> {
  let now = START;
  const store = createArrayStore({ rollupDays });
  const session = await store.open({ source: 's', deployment: null, isReadOnly: false });
  const cells = (span: RollupSpan, level: RollupLevel): StoredRollup[] =>
    [...store.rows('s').rollups.values()].filter((cell) => cell.span === span && cell.level === level);
  return {
    store,
    session,
    cells,
    now: () => now,
    moveTo(minute) {
      now = START + minute * MINUTE;
    },
    instance: (writer = '') => newInstance(session, writer, rollupDays, () => now),
    succeeded(span = 60) {
      const sums = new Map<number, number>();
      for (const { start, counts } of cells(span, 0)) {
        const minute = (start - START) / MINUTE;
        if (counts[3]) sums.set(minute, (sums.get(minute) ?? 0) + (counts[3] as number));
      }
      return sums;
    },
  };
}

/** Starts an instance that counts into a session. */
export function newInstance(
  session: StoreSession,
  writer: string,
  rollupDays: number,
  clock: () => number,
): CountingInstance {
  const state = createMemoryState({ now: clock, keepsCounts: true });
  const recorder = createMemoryWriter(state, createRecorder({ ...state, packOldest: () => {} }));
  const access = { counts: state.aggregate, isWatched: state.coverage.isWhole };
  const rollups = createRollups({ store: session.rollups, access, writer, rollupDays, clock });
  return {
    record(...changes) {
      for (const change of changes) recorder.recordTask(change);
    },
    recordQueue: recorder.recordQueue,
    write: (isHolder = true) => rollups.turn({ writes: true, isHolder }),
    queues: state.aggregate.queues,
    skip: () => rollups.turn({ writes: false, isHolder: false }),
    succeeded: (name) => state.aggregate.counts(name, clock() - DAY, clock() + MINUTE).succeeded,
  };
}

let last = 0;

/** Tasks that succeeded at the time of a kit. */
export function ended(kit: RollupsKit, count: number, more: Partial<TaskChange> = {}): TaskChange[] {
  return Array.from({ length: count }, () =>
    told({
      ...{
        id: `t${++last}`,
        type: 'succeeded',
        name: 'pay',
        queue: 'q',
        worker: 'w',
        time: kit.now(),
        runtime: 1,
      },
      ...more,
    }),
  );
}
