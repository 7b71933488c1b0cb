/**
 * Keeps the counts of the per-minute aggregate: writes those that have changed, and loads them at the start so that
 * counting continues. A cell is always written as a whole, so that writing it again changes nothing.
 */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { MINUTE_MS } from '../../aggregate/cells.ts';
import type { KeptCounts, MinuteAggregate } from '../../aggregate/minute-aggregate.ts';
import {
  absorbTaskCell,
  cellsOf,
  changedMinutes,
  freeOldMinutes,
  freeUnbased,
  needsBase,
} from '../../aggregate/task-cells.ts';
import type { RollupStore, StoredRollup } from '../../rollup-store.ts';
import {
  addCell,
  columnsOf,
  keysOf,
  type RollupSums,
  type SumsByKey,
  storedCell,
  storedGauge,
  sumsOf,
  WATCHED,
} from './rollup-cells.ts';

/** The counts, and where they are kept. */
export interface RollupContext {
  readonly store: RollupStore;
  readonly counts: MinuteAggregate;
  readonly kept: KeptCounts;
  /** Whether everything that happened between these times was seen here. */
  readonly isWatched: (from: number, to: number) => boolean;
  /** `''` if every instance receives everything. */
  readonly writer: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** How far writing has come. Minutes since 1970. */
export interface RollupWriter extends RollupContext {
  isLoaded: boolean;
  /** The minute in which counting began here. */
  startMinute: number;
  /** Whether another instance wrote last time. */
  hasSkipped: boolean;
  /** The first round of changes that is not written. */
  unwritten: number;
  /** Seconds that were watched before this process, of the minutes around its start. */
  readonly watchedBefore: Map<number, number>;
  /** The last minute for which the watched time is written. */
  watchedMinute: number;
}

/** Rounds of changes that an instance writes again when it takes over: three turns of 10 s. */
const REPEATED_ROUNDS = 3;
/** Cells of one call of the store. */
const BATCH = 1_000;
/** Most cells that are read at once. */
export const MOST_CELLS = 100_000;
/** Longest time that is recorded as not watched, in minutes. */
const MOST_UNWATCHED = 60;
/** A part of a minute that is watched or not, in milliseconds. */
const WATCH_MS = 10_000;

/** Nothing is read or written yet. */
export function createRollupWriter(context: RollupContext): RollupWriter {
  const startMinute = Math.floor(context.clock() / MINUTE_MS);
  return {
    ...context,
    ...{ isLoaded: context.writer !== '', startMinute, hasSkipped: false, unwritten: 0 },
    ...{ watchedBefore: new Map(), watchedMinute: startMinute },
  };
}

/** Writes what has changed. Rejects with what the store throws; the changes are then written next time. */
export async function writeCounts(writer: RollupWriter): Promise<void> {
  const { store, kept } = writer;
  const { tasks } = kept;
  if (writer.hasSkipped) {
    // Another instance has written late counts, and which ones is unknown.
    freeUnbased(tasks);
    writer.hasSkipped = false;
  }
  const from = writer.unwritten;
  const until = tasks.round++;
  const minutes = changedMinutes(tasks, from);
  await readBases(
    writer,
    minutes.filter((minute) => needsBase(tasks, minute)),
  );
  const thisMinute = Math.floor(writer.clock() / MINUTE_MS);
  const cells = await scheduler.run('rollups', cellsToWrite(writer, minutes, from, thisMinute));
  for (let at = 0; at < cells.length; at += BATCH) await store.write(cells.slice(at, at + BATCH));
  writer.unwritten = until + 1;
  writer.watchedMinute = thisMinute;
  for (const minute of kept.queues.keys()) if (minute < thisMinute - 1) kept.queues.delete(minute);
  const later = new Set(changedMinutes(tasks, writer.unwritten));
  freeOldMinutes(tasks, (minute) => later.has(minute));
}

/** Another instance writes what is not written here. */
export function skipCounts(writer: RollupWriter): void {
  const { kept } = writer;
  const { tasks } = kept;
  const thisMinute = Math.floor(writer.clock() / MINUTE_MS);
  tasks.round++;
  writer.hasSkipped = true;
  writer.unwritten = Math.max(writer.unwritten, tasks.round - REPEATED_ROUNDS);
  writer.watchedMinute = Math.max(writer.watchedMinute, thisMinute - 1);
  for (const minute of kept.queues.keys()) if (minute < thisMinute - 1) kept.queues.delete(minute);
  freeOldMinutes(tasks, () => false);
}

/** Adds the stored cells of minutes in which something was counted late. */
async function readBases(writer: RollupWriter, minutes: readonly number[]): Promise<void> {
  const { store, kept, clock } = writer;
  for (const minute of minutes) {
    const from = minute * MINUTE_MS;
    const all = { names: [], queues: [], workers: [] };
    const stored = await store.read({ level: 4, span: 60, from, to: from + MINUTE_MS, ...all }, MOST_CELLS);
    for (const cell of stored) {
      if (cell.writer !== writer.writer) continue;
      absorbTaskCell(kept.tasks, { ...cell, minute, columns: columnsOf(cell) }, 'add', clock());
    }
    kept.tasks.based.add(minute);
  }
}

/** The cells of these minutes on all levels, as far as they have changed. */
function* cellsToWrite(
  writer: RollupWriter,
  changedIn: readonly number[],
  from: number,
  thisMinute: number,
): Steps<StoredRollup[]> {
  const { kept } = writer;
  const minutes = new Map(changedIn.map((minute) => [minute, newMinute(writer, minute)]));
  for (
    let minute = Math.max(writer.watchedMinute, thisMinute - MOST_UNWATCHED);
    minute <= thisMinute;
    minute++
  ) {
    if (!minutes.has(minute)) minutes.set(minute, newMinute(writer, minute));
  }
  for (const cell of cellsOf(kept.tasks, (minute) => minutes.has(minute))) {
    const { sums, changed } = minutes.get(cell.minute) as MinuteSums;
    for (const key of keysOf(cell)) {
      const sum = sumsOf(sums, key);
      addCell(sum, cell);
      if (cell.round >= from) changed.add(sum);
    }
    yield;
  }
  const cells: StoredRollup[] = [];
  for (const [minute, { changed }] of minutes) {
    for (const sum of changed) {
      cells.push(storedCell(sum, 60, minute * MINUTE_MS, writer.writer));
      yield;
    }
  }
  for (const [minute, queues] of kept.queues) {
    for (const [queue, gauge] of queues) cells.push(storedGauge(queue, minute, gauge, writer.writer));
    yield;
  }
  return cells;
}

/** The sums of one minute, and those of them that are to be written. */
interface MinuteSums {
  readonly sums: SumsByKey;
  readonly changed: Set<RollupSums>;
}

function newMinute(writer: RollupWriter, minute: number): MinuteSums {
  const sums: SumsByKey = new Map();
  const total = sumsOf(sums, { level: 0, name: '', queue: '', worker: '' });
  if (minute >= writer.startMinute - 1) total.counts[WATCHED] = watchedSeconds(writer, minute);
  return { sums, changed: new Set([total]) };
}

/** How many seconds of a minute were watched, here and before this process. */
function watchedSeconds({ isWatched, clock, watchedBefore }: RollupWriter, minute: number): number {
  let watched = watchedBefore.get(minute) ?? 0;
  for (let from = minute * MINUTE_MS; from < (minute + 1) * MINUTE_MS; from += WATCH_MS) {
    if (from + WATCH_MS <= clock() && isWatched(from, from + WATCH_MS)) watched += WATCH_MS / 1_000;
  }
  return Math.min(60, watched);
}
