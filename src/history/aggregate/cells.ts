/**
 * The cells of the per-minute aggregate: rows of numbers in one typed array, one for each name and minute with counts.
 * With a store, a second table counts by more than the task's name.
 */

import { BUCKETS } from '../../select/durations.ts';
import type { DurationKind } from '../../source.ts';

export const MINUTE_MS = 60_000;
/** Minutes that are kept: a day. */
const MAX_MINUTES = 1_440;
/** Maximum number of names that are counted separately. */
const MAX_NAMES = 1_000;
/** A key of a cell has this many bits for the minute. Only a day of minutes is kept, so the number is unique. */
const MINUTE_BITS = 14;
const MINUTE_MASK = 2 ** MINUTE_BITS - 1;

/** What is counted, by its column. */
export const OUTCOMES = {
  sent: 0,
  received: 1,
  started: 2,
  succeeded: 3,
  failed: 4,
  retried: 5,
  revoked: 6,
  rejected: 7,
} as const;

/** Number of outcomes. */
export const OUTCOME_COUNT = Object.keys(OUTCOMES).length;
/** The first column of each histogram. */
export const HISTOGRAMS: Readonly<Record<DurationKind, number>> = {
  run: OUTCOME_COUNT,
  wait: OUTCOME_COUNT + BUCKETS,
};
/** Columns of a cell. */
export const WIDTH = OUTCOME_COUNT + 2 * BUCKETS;

/** Bytes of a cell: its columns, its minute and name, and its entry in the map. */
const BYTES_PER_CELL = 4 * WIDTH + 8 + 40;
/** Bytes of a name beside its characters. */
const BYTES_PER_NAME = 100;
/** Fewest cells, however little memory is allowed. */
const MIN_CELLS = 16;
/** Part of the cells that is freed when all are used. */
const FREED_SHARE = 1 / 8;

/** Numbers of names. 0: tasks without a known name; 1: all names beyond the bound. */
const UNNAMED = 0;
const OTHERS = 1;
/** The text that stands for names beyond the bound. No task has an empty name. */
export const OTHERS_TEXT = '';

/** The cells. Arrays are replaced as they grow. */
export interface AggregateState {
  readonly maxBytes: number;
  readonly maxCells: number;
  readonly maxNames: number;
  readonly cells: Map<number, number>;
  /** {@link WIDTH} numbers for each cell. */
  columns: Uint32Array;
  /** The minute of each cell since 1970; 0: the cell is free. */
  minutes: Uint32Array;
  names: Uint16Array;
  /** Cells used so far, and those of them that are free again. */
  used: number;
  readonly free: number[];
  readonly numbers: Map<string, number>;
  readonly texts: string[];
  /** How many cells each name has. */
  readonly cellsOf: number[];
  readonly freeNames: number[];
  characters: number;
  /** The latest minute in which something was counted, and the oldest one that is kept. */
  newest: number;
  oldest: number;
  /** The latest name, since events come in bursts of one name. */
  lastText: string;
  lastNumber: number;
}

/**
 * @param maxBytes maximum memory; beyond it, the oldest minutes are dropped
 * @param maxNames maximum number of names that are counted separately, up to 65,000
 */
export function createCells(maxBytes: number, maxNames: number = MAX_NAMES): AggregateState {
  const maxCells = Math.max(MIN_CELLS, Math.floor(maxBytes / BYTES_PER_CELL));
  const capacity = Math.min(64, maxCells);
  return {
    maxBytes,
    maxCells,
    maxNames,
    cells: new Map(),
    columns: new Uint32Array(capacity * WIDTH),
    minutes: new Uint32Array(capacity),
    names: new Uint16Array(capacity),
    used: 0,
    free: [],
    numbers: new Map([[OTHERS_TEXT, OTHERS]]),
    texts: ['', OTHERS_TEXT],
    cellsOf: [0, 0],
    freeNames: [],
    characters: 0,
    newest: 0,
    oldest: 0,
    lastText: OTHERS_TEXT,
    lastNumber: OTHERS,
  };
}

/** The cell of a name and minute; −1: none is available. */
export function findCell({ cells }: AggregateState, number: number, minute: number): number {
  return cells.get((number << MINUTE_BITS) | (minute & MINUTE_MASK)) ?? -1;
}

/** The number of a name; −1 when nothing is counted for it. */
export function findName({ numbers }: AggregateState, name: string): number {
  return numbers.get(name) ?? -1;
}

/** Estimate of the memory, in bytes. */
export function bytesOf({ cells, numbers, characters }: AggregateState): number {
  return cells.size * BYTES_PER_CELL + numbers.size * BYTES_PER_NAME + 2 * characters;
}

/** The cell to count in; −1 for a time before those that are kept. */
export function cellFor(state: AggregateState, name: string | null, time: number, now: number): number {
  const minute = Math.floor(Math.min(time, now) / MINUTE_MS);
  if (minute > state.newest) advance(state, minute);
  // The clock was set back: counts of later minutes would hide everything until then.
  else if (now < state.oldest * MINUTE_MS) clearCells(state);
  // A time that is NaN has no minute either.
  if (!(minute >= state.oldest)) return -1;
  const number = numberOf(state, name);
  const cell = findCell(state, number, minute);
  return cell >= 0 ? cell : allocate(state, number, minute);
}

function numberOf(state: AggregateState, name: string | null): number {
  if (name === null) return UNNAMED;
  if (name === state.lastText) return state.lastNumber;
  const number = state.numbers.get(name) ?? newName(state, name);
  // A name counted among the others may get its own number later.
  if (number !== OTHERS) {
    state.lastText = name;
    state.lastNumber = number;
  }
  return number;
}

function newName(state: AggregateState, name: string): number {
  const { numbers, texts, cellsOf, freeNames, maxNames } = state;
  if (numbers.size >= maxNames) return OTHERS;
  const number = freeNames.pop() ?? texts.length;
  texts[number] = name;
  cellsOf[number] = 0;
  numbers.set(name, number);
  state.characters += name.length;
  return number;
}

function allocate(state: AggregateState, number: number, minute: number): number {
  if (state.cells.size >= state.maxCells) {
    dropOldest(state);
    if (minute < state.oldest) return -1;
  }
  const cell = state.free.pop() ?? nextCell(state);
  state.minutes[cell] = minute;
  state.names[cell] = number;
  state.cellsOf[number] = (state.cellsOf[number] as number) + 1;
  state.cells.set((number << MINUTE_BITS) | (minute & MINUTE_MASK), cell);
  return cell;
}

function nextCell(state: AggregateState): number {
  if (state.used === state.minutes.length) {
    const capacity = Math.min(state.maxCells, Math.ceil(state.used * 1.5));
    state.columns = widen(state.columns, new Uint32Array(capacity * WIDTH));
    state.minutes = widen(state.minutes, new Uint32Array(capacity));
    state.names = widen(state.names, new Uint16Array(capacity));
  }
  return state.used++;
}

function widen<T extends Uint16Array | Uint32Array>(from: T, to: T): T {
  to.set(from as ArrayLike<number>);
  return to;
}

/** Drops everything. */
export function clearCells(state: AggregateState): void {
  Object.assign(state, createCells(state.maxBytes, state.maxNames));
}

/** Another minute has begun. */
function advance(state: AggregateState, minute: number): void {
  state.newest = minute;
  const oldest = minute - MAX_MINUTES + 1;
  if (oldest > state.oldest) dropBefore(state, oldest);
}

/** Frees some cells: those of the oldest minutes. */
function dropOldest(state: AggregateState): void {
  const minutes = state.minutes.subarray(0, state.used).filter((minute) => minute > 0);
  minutes.sort();
  dropBefore(state, (minutes[Math.floor(minutes.length * FREED_SHARE)] as number) + 1);
}

function dropBefore(state: AggregateState, oldest: number): void {
  state.oldest = oldest;
  freeMinutes(state, (minute) => minute < oldest);
}

/** Frees the cells of some minutes, which may be counted in again. */
export function freeMinutes(state: AggregateState, isFreed: (minute: number) => boolean): void {
  const { minutes, names, cells, columns, free } = state;
  for (let cell = 0; cell < state.used; cell++) {
    const minute = minutes[cell] as number;
    if (minute === 0 || !isFreed(minute)) continue;
    const number = names[cell] as number;
    cells.delete((number << MINUTE_BITS) | (minute & MINUTE_MASK));
    columns.fill(0, cell * WIDTH, (cell + 1) * WIDTH);
    minutes[cell] = 0;
    free.push(cell);
    releaseName(state, number);
  }
}

function releaseName(state: AggregateState, number: number): void {
  const { cellsOf, numbers, texts, freeNames } = state;
  cellsOf[number] = (cellsOf[number] as number) - 1;
  if ((cellsOf[number] as number) > 0 || number <= OTHERS) return;
  const text = texts[number] as string;
  numbers.delete(text);
  state.characters -= text.length;
  texts[number] = '';
  freeNames.push(number);
  if (state.lastNumber === number) {
    state.lastText = OTHERS_TEXT;
    state.lastNumber = OTHERS;
  }
}

/** The names that have counts. */
export function namesOf({ numbers, cellsOf }: AggregateState): string[] {
  return [...numbers].flatMap(([name, number]) => (cellsOf[number] === 0 ? [] : [name]));
}
