/**
 * Where a page ended in sets that are listed in their own order. It is part of a cursor, so it has a bounded
 * length, and whatever a client sends instead is accepted or ignored.
 */
import { readMark, writeMark } from '../../../cursor.ts';
import type { RowPosition, SetPosition } from './job-sequence.ts';

/** The end of a page. */
export interface WalkCursor {
  /** The last row of the sets that time and id sort; `null` when there was none yet. */
  readonly sorted: RowPosition | null;
  /** Positions in the other sets, by name; `null`: at the beginning. */
  readonly sets: ReadonlyMap<string, SetPosition | null>;
}

const KIND = 'walk';
/** In bytes. The router refuses cursors of more than 8,192 characters, and a quarter of them is lost to base64. */
const LONGEST = 4_500;

type SetEntry = readonly [name: string, index?: number, ...before: string[]];

/** Sets for which there is no room are left out; they continue by time. */
export function writeWalkCursor({ sorted, sets }: WalkCursor): string {
  const place = sorted === null ? null : [sorted.key, sorted.id];
  const all = [...sets].map(
    ([name, at]): SetEntry => (at === null ? [name] : [name, at.index, ...at.before]),
  );
  const nearest = all.map(
    (entry) => [...entry.slice(0, 2), ...entry.slice(2).slice(-1)] as unknown as SetEntry,
  );
  let entries: readonly SetEntry[] = all;
  for (;;) {
    const text = writeMark(KIND, [place, ...entries]);
    // The router writes this text as JSON once more.
    if (Buffer.byteLength(JSON.stringify(text)) <= LONGEST || entries.length === 0) return text;
    entries = entries === all ? nearest : entries.slice(0, entries.length >> 1);
  }
}

/** @returns `null` for what is no such text */
export function readWalkCursor(text: string): WalkCursor | null {
  const parts = readMark(KIND, text);
  if (parts === null) return null;
  const [place, ...entries] = parts.map((part): readonly unknown[] => (Array.isArray(part) ? part : []));
  const sets = new Map<string, SetPosition | null>();
  for (const [name, index, ...before] of entries) {
    if (typeof name === 'string') sets.set(name, setPosition(index, before));
  }
  return { sorted: rowPosition(place ?? []), sets };
}

function rowPosition([key, id]: readonly unknown[]): RowPosition | null {
  return typeof id === 'string' ? { key: typeof key === 'number' ? key : null, id } : null;
}

function setPosition(index: unknown, before: readonly unknown[]): SetPosition | null {
  if (!Number.isSafeInteger(index) || Number(index) < 0) return null;
  return { index: Number(index), before: before.filter((id) => typeof id === 'string') };
}
