/**
 * Counts by minute, name, queue and worker: what a store keeps. Only the last minutes are in memory, and older ones
 * while late events are counted.
 */
import {
  type AggregateState,
  cellFor,
  createCells,
  findCell,
  freeMinutes,
  MINUTE_MS,
  WIDTH,
} from './cells.ts';

/** Stands for tasks without a name, queue or worker. */
export const UNKNOWN = '\0';
/** Stands for names, queues and workers beyond the bound. */
export const OTHERS = '\0\0';

/** What is counted separately. Each is a text, {@link UNKNOWN} or {@link OTHERS}. */
export interface CellKey {
  readonly name: string;
  readonly queue: string;
  readonly worker: string;
}

/** The counts of one key in one minute. `columns` are valid until something is counted. */
export interface TaskCell extends CellKey {
  readonly minute: number;
  readonly columns: Uint32Array;
  /** The round in which it last changed. */
  readonly round: number;
}

/** Maximum number of combinations of name, queue and worker that are counted separately. */
const MAX_KEYS = 5_000;
/** Fewest minutes of all keys that must fit into memory. */
const MIN_MINUTES = 3;
/** Minutes that are kept after they were written, since most late counts belong to them. */
const KEPT_MINUTES = 10;

/** A key and the cell that it was last counted in. */
interface KnownKey {
  readonly text: string;
  minute: number;
  cell: number;
}

/** Counts by minute, name, queue and worker. */
export interface TaskCells {
  readonly cells: AggregateState;
  /** Keys in use, by name, queue and worker. */
  readonly keys: Map<string | null, Map<string | null, Map<string | null, KnownKey>>>;
  keyCount: number;
  /** By cell: the round in which it last changed. */
  readonly rounds: number[];
  /** Goes up with every collection. */
  round: number;
  /**
   * Everything since this minute was counted here. Of earlier ones the stored cells have to be added, unless their
   * minute is in `based`, before what was counted here is written.
   */
  ownFrom: number;
  readonly based: Set<number>;
}

/** @param maxBytes maximum memory; beyond it, the oldest minutes are dropped */
export function createTaskCells(maxBytes: number): TaskCells {
  const { maxCells } = createCells(maxBytes);
  const cells = createCells(maxBytes, Math.min(MAX_KEYS, Math.max(4, Math.floor(maxCells / MIN_MINUTES))));
  return { cells, keys: new Map(), keyCount: 0, rounds: [], round: 1, ownFrom: 0, based: new Set() };
}

/** The cell to count in; −1: none is available. `null`: unknown. */
export function taskCellFor(
  state: TaskCells,
  name: string | null,
  { queue, worker }: { readonly queue: string | null; readonly worker: string | null },
  time: number,
  now: number,
): number {
  const { cells, rounds } = state;
  const key = knownKey(state, name, queue, worker);
  const minute = Math.floor(Math.min(time, now) / MINUTE_MS);
  // Most events are of the minute that was counted in before.
  const isSame = key.minute === minute && cells.minutes[key.cell] === minute;
  const cell =
    isSame && cells.texts[cells.names[key.cell] as number] === key.text
      ? key.cell
      : cellFor(cells, key.text, time, now);
  if (cell < 0) return cell;
  key.minute = minute;
  key.cell = cell;
  rounds[cell] = state.round;
  return cell;
}

function knownKey(
  state: TaskCells,
  name: string | null,
  queue: string | null,
  worker: string | null,
): KnownKey {
  const { keys } = state;
  const ofName = keys.get(name) ?? insert(keys, name, new Map());
  const ofQueue = ofName.get(queue) ?? insert(ofName, queue, new Map<string | null, KnownKey>());
  const known = ofQueue.get(worker);
  if (known !== undefined) return known;
  // Otherwise, unused keys would accumulate.
  if (++state.keyCount > 4 * MAX_KEYS) {
    keys.clear();
    state.keyCount = 0;
  }
  const key = { name: name ?? UNKNOWN, queue: queue ?? UNKNOWN, worker: worker ?? UNKNOWN };
  return insert(ofQueue, worker, { text: textOf(key), minute: 0, cell: 0 });
}

function insert<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  map.set(key, value);
  return value;
}

function textOf({ name, queue, worker }: CellKey): string {
  return JSON.stringify([name, queue, worker]);
}

function keyOf(text: string): CellKey {
  if (text === '') return { name: OTHERS, queue: OTHERS, worker: OTHERS };
  const [name, queue, worker] = JSON.parse(text) as [string, string, string];
  return { name, queue, worker };
}

/** The minutes in which something was counted in this round or later. */
export function changedMinutes({ cells, rounds }: TaskCells, round: number): number[] {
  const changed = new Set<number>();
  for (let cell = 0; cell < cells.used; cell++) {
    const minute = cells.minutes[cell] as number;
    if (minute > 0 && (rounds[cell] ?? 0) >= round) changed.add(minute);
  }
  return [...changed].sort((a, b) => a - b);
}

/** All cells of some minutes, one by one. Something may be counted between two of them. */
export function* cellsOf(
  { cells, rounds }: TaskCells,
  isAsked: (minute: number) => boolean,
): Iterable<TaskCell> {
  for (let cell = 0; cell < cells.used; cell++) {
    const minute = cells.minutes[cell] as number;
    if (minute === 0 || !isAsked(minute)) continue;
    yield {
      ...keyOf(cells.texts[cells.names[cell] as number] as string),
      minute,
      columns: cells.columns.subarray(cell * WIDTH, (cell + 1) * WIDTH),
      round: rounds[cell] ?? 0,
    };
  }
}

/**
 * Adds a stored cell.
 *
 * @param how `add`: it does not include what was counted here; `most`: it may, so the larger count is used
 */
export function absorbTaskCell(
  state: TaskCells,
  {
    name,
    queue,
    worker,
    minute,
    columns,
  }: CellKey & Pick<TaskCell, 'minute'> & { readonly columns: ArrayLike<number> },
  how: 'add' | 'most',
  now: number,
): void {
  const { cells } = state;
  const time = minute * MINUTE_MS;
  const text = name === OTHERS ? '' : textOf({ name, queue, worker });
  const number = cells.numbers.get(text);
  const held = number === undefined ? -1 : findCell(cells, number, minute);
  const cell = held >= 0 ? held : cellFor(cells, text, time, now);
  if (cell < 0) return;
  // Stored counts need not be written again.
  if (held < 0) state.rounds[cell] = 0;
  const at = cell * WIDTH;
  for (let column = 0; column < WIDTH; column++) {
    const own = cells.columns[at + column] as number;
    const given = columns[column] as number;
    cells.columns[at + column] = how === 'add' ? own + given : Math.max(own, given);
  }
}

/** Whether the stored cells of a minute have to be added to what was counted here. */
export function needsBase({ ownFrom, based }: TaskCells, minute: number): boolean {
  return minute < ownFrom && !based.has(minute);
}

/**
 * Frees the cells of minutes that ended long ago.
 *
 * @param isKept whether a minute is still to be written
 */
export function freeOldMinutes(state: TaskCells, isKept: (minute: number) => boolean): void {
  const { cells, based } = state;
  const oldest = cells.newest - KEPT_MINUTES;
  for (const minute of based) if (minute < oldest && !isKept(minute)) based.delete(minute);
  freeMinutes(cells, (minute) => {
    if (minute >= oldest) return false;
    if (!isKept(minute)) return true;
    // It stays complete.
    if (minute >= state.ownFrom) based.add(minute);
    return false;
  });
  state.ownFrom = Math.max(state.ownFrom, oldest);
}

/** Frees the cells of minutes that are incomplete. */
export function freeUnbased(state: TaskCells): void {
  freeMinutes(state.cells, (minute) => needsBase(state, minute));
}
