/** Counts by minute, name, queue and worker, until a store has them. */
import { type AggregateState, cellFor, createCells, MINUTE_MS, WIDTH } from './cells.ts';

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

/** The counts of one key in one minute. */
export interface TaskCell extends CellKey {
  readonly minute: number;
  readonly columns: Uint32Array;
}

/** Maximum number of combinations of name, queue and worker that are counted separately. */
const MAX_KEYS = 5_000;
/** Fewest minutes of all keys that must fit into memory. */
const MIN_MINUTES = 3;

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
}

/** @param maxBytes maximum memory; beyond it, the oldest minutes are dropped */
export function createTaskCells(maxBytes: number): TaskCells {
  const { maxCells } = createCells(maxBytes);
  const cells = createCells(maxBytes, Math.min(MAX_KEYS, Math.max(4, Math.floor(maxCells / MIN_MINUTES))));
  return { cells, keys: new Map(), keyCount: 0 };
}

/** The cell to count in; −1: none is available. `null`: unknown. */
export function taskCellFor(
  state: TaskCells,
  name: string | null,
  { queue, worker }: { readonly queue: string | null; readonly worker: string | null },
  time: number,
  now: number,
): number {
  const { cells } = state;
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
  const text = JSON.stringify([name ?? UNKNOWN, queue ?? UNKNOWN, worker ?? UNKNOWN]);
  return insert(ofQueue, worker, { text, minute: 0, cell: 0 });
}

function insert<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  map.set(key, value);
  return value;
}

/** All cells, one by one. */
export function* cellsOf({ cells }: TaskCells): Iterable<TaskCell> {
  for (let cell = 0; cell < cells.used; cell++) {
    const minute = cells.minutes[cell] as number;
    if (minute === 0) continue;
    yield {
      ...keyOf(cells.texts[cells.names[cell] as number] as string),
      minute,
      columns: cells.columns.subarray(cell * WIDTH, (cell + 1) * WIDTH),
    };
  }
}

function keyOf(text: string): CellKey {
  if (text === '') return { name: OTHERS, queue: OTHERS, worker: OTHERS };
  const [name, queue, worker] = JSON.parse(text) as [string, string, string];
  return { name, queue, worker };
}
