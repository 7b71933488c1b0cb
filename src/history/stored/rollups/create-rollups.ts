/** Counts over time in a store: written by the instance that writes, folded and dropped by the holder of the lease. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { freeMinutes, MINUTE_MS, OUTCOME_COUNT } from '../../aggregate/cells.ts';
import {
  cellsOf,
  type KeptCounts,
  type MinuteAggregate,
  takeTaskCells,
} from '../../aggregate/minute-aggregate.ts';
import type { MemoryAccess } from '../../memory/memory-access.ts';
import type { RollupLevel, RollupQuery, RollupSpan, RollupStore, StoredRollup } from '../../rollup-store.ts';
import {
  addCell,
  addStored,
  columnsOf,
  DAY_MS,
  HOUR_MS,
  keysOf,
  MINUTE_DAYS,
  type SumsByKey,
  storedCell,
  storedGauge,
  sumsOf,
  WATCHED,
} from './rollup-cells.ts';
import { sampleOf } from './rollup-sums.ts';

/** What an instance does now. */
interface RollupRole {
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
export type Rollups = ReturnType<typeof createRollups>;

/** Parameters of {@link createRollups}. */
interface RollupsOptions {
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
export function createRollups(options: RollupsOptions) {
  const state: RollupsState = {
    ...options,
    own: newWriter(options),
    foldedAllAt: Number.NEGATIVE_INFINITY,
    foldedAt: Number.NEGATIVE_INFINITY,
  };
  let running: Promise<void> = Promise.resolve();
  return {
    /**
     * Loads, writes, folds and drops what is due. To be called every 10 s, when the role changes, and before the end. One
     * call runs at a time: a later one waits for it. Rejects with what the store throws; the next call does the rest.
     */
    turn(role: RollupRole): Promise<void> {
      running = running.catch(() => {}).then(() => turn(state, role));
      return running;
    },
    /** This instance receives messages from now on: what others have counted so far is loaded again. */
    restart(): void {
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

const LEVELS: readonly RollupLevel[] = [0, 1, 2, 3, 4, 5];
/** Cells of one call of the store. */
const BATCH = 1_000;
/** Most cells that are read at once. */
const MOST_CELLS = 100_000;
/** Parts of a span that are read one after the other, so that all its cells need not be in memory. */
const PARTS = 12;

/** Which span is folded to which. */
interface Fold {
  readonly from: RollupSpan;
  readonly to: RollupSpan;
}

const TO_HOURS: Fold = { from: 60, to: 3_600 };
const TO_DAYS: Fold = { from: 3_600, to: 86_400 };

/**
 * Folds the complete spans between two times. Rejects with what the store throws. @param now milliseconds since 1970
 */
async function foldRollups(store: RollupStore, since: number, now: number): Promise<void> {
  await foldSpans(store, TO_HOURS, since, now);
  await foldSpans(store, TO_DAYS, since, now);
}

/** Drops old cells: minutes after two days, the rest after `days`. */
async function dropRollups(store: RollupStore, days: number, now: number): Promise<void> {
  const oldest = startOf(now - days * DAY_MS, DAY_MS);
  await store.dropBefore(60, Math.max(oldest, startOf(now - MINUTE_DAYS * DAY_MS, HOUR_MS)));
  await store.dropBefore(3_600, oldest);
  await store.dropBefore(86_400, oldest);
}

function startOf(time: number, spanMs: number): number {
  return Math.floor(time / spanMs) * spanMs;
}

async function foldSpans(store: RollupStore, { from, to }: Fold, since: number, now: number): Promise<void> {
  const spanMs = to * 1_000;
  const range = { from: startOf(since, spanMs), to: startOf(now, spanMs) };
  const counted = new Map<number, number>();
  for (const { start, counts } of await store.sums({ ...total(from), ...range })) {
    const whole = startOf(start, spanMs);
    counted.set(whole, (counted.get(whole) ?? 0) + eventsIn(counts));
  }
  const folded = new Map<number, number>();
  for (const { start, counts } of await store.sums({ ...total(to), ...range })) {
    folded.set(start, eventsIn(counts));
  }
  for (const [start, events] of [...counted].sort(([a], [b]) => a - b)) {
    const known = folded.get(start);
    if (known === undefined || known < events) await foldSpan(store, { from, to }, start);
  }
}

function total(span: RollupSpan): Pick<RollupQuery, 'level' | 'span' | 'names' | 'queues' | 'workers'> {
  return { level: 0, span, names: [], queues: [], workers: [] };
}

/** The total is written last: it shows that the others are. */
async function foldSpan(store: RollupStore, { from, to }: Fold, start: number): Promise<void> {
  for (const level of LEVELS.toReversed()) {
    const sums: SumsByKey = new Map();
    const partMs = (to * 1_000) / PARTS;
    for (let part = 0; part < PARTS; part++) {
      const range = { from: start + part * partMs, to: start + (part + 1) * partMs };
      const cells = await store.read({ ...total(from), level, ...range }, MOST_CELLS);
      await scheduler.run('rollups', addCells(sums, cells));
    }
    const cells = [...sums.values()].map((sum) => storedCell(sum, to, start, ''));
    for (let at = 0; at < cells.length; at += BATCH) await store.write(cells.slice(at, at + BATCH));
  }
}

function* addCells(sums: SumsByKey, cells: readonly StoredRollup[]): Steps<void> {
  let watched = { start: Number.NaN, seconds: 0 };
  for (const cell of cells) {
    const sum = sumsOf(sums, cell);
    if (cell.level !== 0) addStored(sum, cell);
    else {
      // Time that several instances have watched counts once.
      const before = watched.start === cell.start ? watched.seconds : 0;
      const seconds = Math.max(before, cell.counts[WATCHED] ?? 0);
      watched = { start: cell.start, seconds };
      addStored(sum, cell);
      sum.counts[WATCHED] = (sum.counts[WATCHED] as number) - (cell.counts[WATCHED] ?? 0) + seconds - before;
    }
    yield;
  }
}

function eventsIn(counts: readonly number[]): number {
  return counts.slice(0, OUTCOME_COUNT).reduce((sum, count) => sum + count, 0);
}

/** The counts, and where they are kept. */
interface RollupContext {
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
interface RollupWriter extends RollupContext {
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

/** Longest time of which it is found out later whether it was watched, in milliseconds. */
const MOST_UNWATCHED_MS = 60 * MINUTE_MS;
/** A part of a minute that is watched or not, in milliseconds. */
const WATCH_MS = 10_000;

/** Nothing is read or written yet. */
function createRollupWriter(context: RollupContext): RollupWriter {
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
async function writeCounts(writer: RollupWriter): Promise<void> {
  const { store, counts, clock } = writer;
  await addCounted(writer);
  writer.adding = await scheduler.run('rollups', takeCells(writer));
  await addCounted(writer);
  const thisMinute = Math.floor(clock() / MINUTE_MS);
  const gauges = [...counts.queues.gauges(writer.gaugesFrom)].map(({ queue, minute, gauge }) =>
    storedGauge(queue, minute, gauge, writer.writer),
  );
  for (let at = 0; at < gauges.length; at += BATCH) await store.write(gauges.slice(at, at + BATCH));
  writer.gaugesFrom = thisMinute;
}

async function addCounted(writer: RollupWriter): Promise<void> {
  const { store, adding } = writer;
  if (adding === null) return;
  for (let at = 0; at < adding.length; at += BATCH) await store.add(adding.slice(at, at + BATCH));
  writer.adding = null;
}

/** Another instance writes the same. */
function skipCounts(writer: RollupWriter): void {
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

/** Loads the counts of a day into memory. Rejects with what the store throws. */
async function loadCounts(writer: RollupWriter): Promise<void> {
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
