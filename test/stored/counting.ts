/** Processes that count into one store, one after the other or at once, and what is read of their counts. */
import type { TaskChange } from '../../src/history/history.ts';
import type { StoredHistory, StoredHistoryOptions } from '../../src/history/stored-history.ts';
import type { TaskQuery, TaskStats } from '../../src/source.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { CONTEXT, query, told } from '../history/telling.ts';
import { AT_ONCE, instanceOf, untilReady, untilWritten } from './instances.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The beginning of a day. */
export const START = Date.UTC(2026, 10, 20);

/** How statistics are asked for. */
export interface Asked extends Partial<TaskQuery> {
  readonly minutes: number;
  readonly stepSeconds?: number;
  /** Default: the time of the lab. */
  readonly end?: number;
  readonly percentiles?: boolean;
  readonly mostCauses?: number;
}

/** By how much the clocks of processes are ahead of a full minute: comparing clocks may be wrong by a millisecond. */
const CLOCK_MS = 7;

let last = 0;

/** A store that keeps no tasks, so that all statistics are made of counts, and a clock. */
export function countingLab({ taskDays = 0, rollupDays = 90 } = {}) {
  const clock = { now: START };
  const now = () => clock.now;
  const store = createArrayStore({ taskDays, rollupDays });
  store.now = now;
  const open = (given: Partial<StoredHistoryOptions> = {}): StoredHistory =>
    instanceOf({ store, ...given }, { now: () => clock.now + CLOCK_MS }, AT_ONCE);

  /** Starts a process, which may write. */
  async function start(given: Partial<StoredHistoryOptions> = {}): Promise<StoredHistory> {
    const history = open(given);
    await untilReady(history);
    if (given.hearing === undefined) await until(() => history.isHolder() || history.hasOthers());
    return history;
  }

  async function stats(given: Asked) {
    const { minutes, stepSeconds, end = clock.now, percentiles = false, mostCauses = 0, ...filter } = given;
    const reader = await start({ hearing: 'nothing', isReadOnly: true });
    const asked = {
      minutes,
      now: new Date(end),
      stepSeconds: stepSeconds ?? null,
      percentiles,
      causes: mostCauses,
    };
    const found = await reader.reader.getTaskStats({ ...asked, filter: query(filter) }, CONTEXT);
    await reader.close();
    return found;
  }

  return {
    store,
    start,
    stats,
    now,
    /** Moves the clock to so many minutes after {@link START}. */
    moveTo(minute: number) {
      clock.now = START + minute * MINUTE;
    },
    /** Tasks that succeed now. */
    ended: (count: number, more: Partial<TaskChange> = {}): TaskChange[] =>
      Array.from({ length: count }, () =>
        told({
          ...{ id: `t${++last}`, type: 'succeeded', name: 'pay', queue: 'q', worker: 'w' },
          ...{ time: clock.now, runtime: 1, ...more },
        }),
      ),
    /** Runs a process that hears of these and ends. */
    async run(changes: readonly TaskChange[], also: (history: StoredHistory) => void = () => {}) {
      const history = await start();
      record(history, changes);
      also(history);
      // The end of a process waits for 2 seconds at most.
      await write(history, { store });
      await history.close();
    },
    /** How many tasks have succeeded, by minute, hour or day since {@link START}; nothing where none has. */
    async succeeded(stepSeconds = 60, minutes = 60): Promise<Record<number, number>> {
      const { series } = await stats({ minutes, stepSeconds });
      const steps = series.flatMap(({ t, succeeded }) =>
        succeeded ? [[(t.getTime() - START) / stepSeconds / 1_000, succeeded]] : [],
      );
      return Object.fromEntries(steps);
    },
  };
}

export type Lab = ReturnType<typeof countingLab>;

export function record({ writer }: StoredHistory, changes: readonly TaskChange[]): void {
  for (const change of changes) writer.recordTask(change);
}

/** Has a process write what it has counted so far, if it is the one that writes. */
export async function write(history: StoredHistory, { store }: Pick<Lab, 'store'>): Promise<void> {
  const before = store.calls.length;
  // Wanting the lease again makes it do at once what is due.
  history.wantLease(false);
  history.wantLease(true);
  const turns = () => store.calls.slice(before).filter((call) => call === 'rollups.read').length;
  await until(() => turns() > 0);
  await untilWritten(history);
}

export const sum = ({ series }: TaskStats): number =>
  series.reduce((total, { succeeded }) => total + (succeeded ?? 0), 0);
