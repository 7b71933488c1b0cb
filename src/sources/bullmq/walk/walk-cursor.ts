/** How far a walk has come, and how that is written into the cursor of a page. */
import { readMark, writeMark } from '../../../cursor.ts';
import type { TaskPosition } from '../../../source.ts';
import type { RowPosition, SequenceRow, SetPosition } from './job-sequence.ts';

/** How far a walk has come. */
export interface WalkProgress {
  /** The last row of the sets that time and id sort; `null` when there was none yet. */
  readonly sorted: RowPosition | null;
  /** Positions in sets that are listed in their own order, by the name of the sequence; `null`: at the beginning. */
  readonly sets: ReadonlyMap<string, SetPosition | null>;
}

const KIND = 'walk';
/** In bytes. The router refuses cursors of more than 8,192 characters, and base64 takes a quarter of them. */
const LONGEST = 4_500;

/** A sequence in a cursor. */
type CursorEntry = readonly [name: string, index?: number, ...before: string[]];

/**
 * How far a walk had come at this position. A position that a client has invented counts as the time and id of a row.
 */
export function progressAt(after: TaskPosition | null): WalkProgress {
  const progress = after?.mark === undefined ? null : readProgress(after.mark);
  return progress ?? { sorted: after === null ? null : rowPositionOf(after), sets: new Map() };
}

/** How far a walk has come that passes these rows, in this order. */
export function progressBehind(progress: WalkProgress, rows: readonly SequenceRow[]): WalkProgress {
  let { sorted } = progress;
  const sets = new Map(progress.sets);
  for (const { position, next } of rows) {
    if (next === null) sorted = position;
    else sets.set(next.name, next.position);
  }
  return { sorted, sets };
}

/** The position of a row, which says how far the walk has come behind it. */
export function positionOf({ position }: SequenceRow, progress: WalkProgress): TaskPosition {
  return progress.sets.size === 0 ? position : { ...position, mark: writeProgress(progress) };
}

/** Time and id of a position. */
export function rowPositionOf({ key, id }: TaskPosition): RowPosition {
  return { key: typeof key === 'number' ? key : null, id };
}

/** Sequences for which there is no room are left out; they continue by time. */
function writeProgress({ sorted, sets }: WalkProgress): string {
  const last = sorted === null ? null : [sorted.key, sorted.id];
  const whole = [...sets].map(
    ([name, at]): CursorEntry => (at === null ? [name] : [name, at.index, ...at.before]),
  );
  const nearest = [...sets].map(
    ([name, at]): CursorEntry => (at === null ? [name] : [name, at.index, ...at.before.slice(-1)]),
  );
  let entries = whole;
  for (;;) {
    const text = writeMark(KIND, [last, ...entries]);
    // The router writes this text as JSON once more.
    if (Buffer.byteLength(JSON.stringify(text)) <= LONGEST || entries.length === 0) return text;
    entries = entries === whole ? nearest : entries.slice(0, entries.length >> 1);
  }
}

/** @returns `null` for any other text. Clients can send anything, so each part is checked. */
function readProgress(text: string): WalkProgress | null {
  const parts = readMark(KIND, text);
  if (parts === null) return null;
  const [last = [], ...entries] = parts.map((part): readonly unknown[] => (Array.isArray(part) ? part : []));
  const sets = new Map<string, SetPosition | null>();
  for (const [name, index, ...before] of entries) {
    if (typeof name === 'string') sets.set(name, setPositionOf(index, before));
  }
  const [key, id] = last;
  const sorted = typeof id === 'string' ? { key: typeof key === 'number' ? key : null, id } : null;
  return { sorted, sets };
}

function setPositionOf(index: unknown, before: readonly unknown[]): SetPosition | null {
  if (!Number.isSafeInteger(index) || Number(index) < 0) return null;
  return { index: Number(index), before: before.filter((id) => typeof id === 'string') };
}
