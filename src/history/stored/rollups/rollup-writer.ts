/** Adds to a store what was counted since the last time. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { freeMinutes, MINUTE_MS } from '../../aggregate/cells.ts';
import {
  cellsOf,
  type KeptCounts,
  type MinuteAggregate,
  takeTaskCells,
} from '../../aggregate/minute-aggregate.ts';
import type { RollupStore, StoredRollup } from '../../rollup-store.ts';
import {
  addCell,
  columnsOf,
  keysOf,
  type SumsByKey,
  storedCell,
  storedGauge,
  sumsOf,
  WATCHED,
} from './rollup-cells.ts';
import { sampleOf } from './rollup-sums.ts';

/** The counts, and where they are kept. */
export interface RollupContext {
  readonly store: RollupStore;
  readonly counts: MinuteAggregate;
  readonly kept: KeptCounts;
  /** Whether everything that happened between these times was seen here. */
  readonly isWatched: (from: number, to: number) => boolean;
  /** `''` if one instance at a time receives everything. */
  readonly writer: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The clock of the database. */
  readonly storeClock: () => number;
}

/** How far writing has come. */
export interface RollupWriter extends RollupContext {
  isLoaded: boolean;
  /** The minute since 1970 in which counting began here. */
  readonly startMinute: number;
  /** Up to when it is written which time was watched, milliseconds since 1970. */
  watchedThrough: number;
  /**
   * What is being added: after a failure it is unknown whether the store has it, so that the same cells are added again,
   * which changes nothing where the store has them.
   */
  adding: readonly StoredRollup[] | null;
  /** Number of the last addition. */
  addition: number;
  /** The first minute since 1970 of which readings of queues may have to be written. */
  gaugesFrom: number;
}

/** Cells of one call of the store. */
const BATCH = 1_000;
/** Longest time of which it is found out later whether it was watched, in milliseconds. */
const MOST_UNWATCHED_MS = 60 * MINUTE_MS;
/** A part of a minute that is watched or not, in milliseconds. */
const WATCH_MS = 10_000;

/** Nothing is read or written yet. */
export function createRollupWriter(context: RollupContext): RollupWriter {
  const now = context.clock();
  return {
    ...context,
    isLoaded: context.writer !== '',
    startMinute: Math.floor(now / MINUTE_MS),
    watchedThrough: Math.floor(now / WATCH_MS) * WATCH_MS,
    adding: null,
    addition: 0,
    gaugesFrom: Math.floor(now / MINUTE_MS),
  };
}

/** Writes what was counted. Rejects with what the store throws; the counts are then written next time. */
export async function writeCounts(writer: RollupWriter): Promise<void> {
  const { store, counts, clock } = writer;
  await addCells(writer);
  writer.adding = await scheduler.run('rollups', takeCells(writer));
  await addCells(writer);
  const thisMinute = Math.floor(clock() / MINUTE_MS);
  const gauges = [...counts.queues.gauges(writer.gaugesFrom)].map(({ queue, minute, gauge }) =>
    storedGauge(queue, minute, gauge, writer.writer),
  );
  for (let at = 0; at < gauges.length; at += BATCH) await store.write(gauges.slice(at, at + BATCH));
  writer.gaugesFrom = thisMinute;
}

async function addCells(writer: RollupWriter): Promise<void> {
  const { store, adding } = writer;
  if (adding === null) return;
  for (let at = 0; at < adding.length; at += BATCH) await store.add(adding.slice(at, at + BATCH));
  writer.adding = null;
}

/** Another instance writes the same. */
export function skipCounts(writer: RollupWriter): void {
  takeTaskCells(writer.kept);
  writer.adding = null;
  writer.watchedThrough = Math.floor(writer.clock() / WATCH_MS) * WATCH_MS;
  writer.gaugesFrom = Math.floor(writer.clock() / MINUTE_MS);
}

/** What was counted and watched since the last time, on all levels. */
function* takeCells(writer: RollupWriter): Steps<StoredRollup[]> {
  const taken = takeTaskCells(writer.kept);
  writer.addition = Math.max(writer.addition + 1, Math.floor(writer.storeClock()));
  const minutes = watchedMinutes(writer);
  for (const cell of cellsOf(taken)) {
    const sums = minutes.get(cell.minute) ?? new Map();
    minutes.set(cell.minute, sums);
    for (const key of keysOf(cell)) addCell(sumsOf(sums, key), cell);
    yield;
  }
  const cells: StoredRollup[] = [];
  for (const [minute, sums] of minutes) {
    for (const sum of sums.values()) {
      cells.push({ ...storedCell(sum, 60, minute * MINUTE_MS, writer.writer), weight: writer.addition });
      yield;
    }
  }
  return cells;
}

/** By minute: how many seconds of it were watched since the last time. */
function watchedMinutes(writer: RollupWriter): Map<number, SumsByKey> {
  const { clock, isWatched } = writer;
  const now = clock();
  const minutes = new Map<number, SumsByKey>();
  let from = Math.max(writer.watchedThrough, Math.ceil((now - MOST_UNWATCHED_MS) / WATCH_MS) * WATCH_MS);
  for (; from + WATCH_MS <= now; from += WATCH_MS) {
    if (!isWatched(from, from + WATCH_MS)) continue;
    const minute = Math.floor(from / MINUTE_MS);
    const sums = minutes.get(minute) ?? new Map();
    minutes.set(minute, sums);
    const total = sumsOf(sums, { level: 0, name: '', queue: '', worker: '' });
    total.counts[WATCHED] = (total.counts[WATCHED] as number) + WATCH_MS / 1_000;
  }
  writer.watchedThrough = from;
  return minutes;
}

const HOUR_MINUTES = 60;
const DAY_MINUTES = 1_440;
/** Most cells that are read at once. */
const MOST_CELLS = 100_000;

/** Loads the counts of a day into memory. Rejects with what the store throws. */
export async function loadCounts(writer: RollupWriter): Promise<void> {
  const { store, clock, startMinute, kept, counts } = writer;
  const end = Math.floor(clock() / MINUTE_MS) + 1;
  const read = (
    level: 0 | 1 | 2 | 5,
    from: number,
    to: number,
    span: 60 | 3_600 = 60,
  ): Promise<readonly StoredRollup[]> =>
    store.read(
      { level, span, from: from * MINUTE_MS, to: to * MINUTE_MS, names: [], queues: [], workers: [] },
      MOST_CELLS,
    );
  const day = startMinute - DAY_MINUTES;
  const counted = await read(0, day, end);
  // Of hours, only those that are over are stored.
  const hour = Math.floor(startMinute / HOUR_MINUTES - 1) * HOUR_MINUTES;
  const byName = [
    ...(await read(1, hour - DAY_MINUTES + HOUR_MINUTES, hour, 3_600)),
    ...(await read(1, hour, end)),
  ];
  const queues = [...(await read(5, day, end)), ...(await read(2, day, end))];
  for (const { start } of counted) if (start / MINUTE_MS <= startMinute) kept.counted.add(start / MINUTE_MS);
  // Tasks read from storage meanwhile have been counted by the instance that counted these minutes.
  const isKnown = (minute: number): boolean => minute < startMinute && kept.counted.has(minute);
  counts.drop(isKnown);
  freeMinutes(kept.tasks.cells, isKnown);
  await scheduler.run('rollups', absorbCells(writer, byName, queues));
  writer.isLoaded = true;
}

function* absorbCells(
  { counts, clock }: RollupWriter,
  byName: readonly StoredRollup[],
  queues: readonly StoredRollup[],
): Steps<void> {
  for (const cell of byName) {
    counts.absorb(cell.name, cell.start / MINUTE_MS, columnsOf(cell), clock());
    yield;
  }
  for (const cell of queues) {
    counts.queues.absorb(sampleOf(cell));
    yield;
  }
}
