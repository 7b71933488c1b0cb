/**
 * A sequence: the jobs of one set as rows in the order of the list, read only as far as they are needed; and how far a
 * walk over several sequences has come, as the cursor of a page keeps it.
 */

import { readMark, writeMark } from '../../../cursor.ts';
import type { TaskPosition } from '../../../source.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import type { JobContent, SetEntry } from '../jobs/job-facts.ts';
import type { JobSet } from '../jobs/job-sets.ts';

/** The position of a row in the list: its time in milliseconds, `null` when it has none, and its task id. */
export interface RowPosition {
  readonly key: number | null;
  readonly id: string;
}

/** The position of the next job in a set that is listed in its own order. */
export interface SetPosition {
  /** Its index when the page was read. */
  readonly index: number;
  /** Ids of the jobs right before it, the nearest last. They find the position again after jobs have come and gone. */
  readonly before: readonly string[];
}

/** A job at its position in the list. */
export interface SequenceRow extends SetEntry {
  readonly taskId: string;
  readonly position: RowPosition;
  /** What the sequence has read of the job; `null` when it needed nothing. */
  readonly content: JobContent | null;
  /** In a set that is listed in its own order: the sequence's name, and its position behind this row. */
  readonly next: { readonly name: string; readonly position: SetPosition } | null;
}

/** The rows of one set, or of one priority of a set. */
export interface JobSequence {
  /**
   * In a set that is listed in its own order: the sequence's name in cursors, and where it starts (`null`: at its
   * beginning). `null` for other sets, of which time and id of the last row are all that a cursor needs.
   */
  readonly own: { readonly name: string; readonly start: SetPosition | null } | null;
  readonly rows: AsyncIterable<SequenceRow>;
}

/** Which rows the sequences of a walk give, and how many the walk needs. Times in milliseconds. */
export interface SequenceRange {
  readonly order: 'asc' | 'desc';
  /** Only rows behind this position. Sets that are listed in their own order have positions of their own. */
  readonly after: RowPosition | null;
  /** Inclusive. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** Whether to read the texts of small jobs, too, because most rows will be shown. */
  readonly withTexts: boolean;
  readonly demand: Demand;
}

/** How much a walk needs. It changes while the walk is read. */
export interface Demand {
  /** Rows that are missing, one to look ahead included. */
  rows: number;
  /** How many sequences they come from. */
  sequences: number;
}

/** The longest read of ids. It takes Redis less than a millisecond. */
export const MOST_AT_ONCE = 1_000;

/** @param key time of the row in milliseconds; `null` when it has none */
export function rowOf(
  queue: QueueRef,
  set: JobSet,
  member: { readonly id: string; readonly score: number | null },
  key: number | null,
  content: JobContent | null,
): SequenceRow {
  const taskId = taskIdOf(queue.name, member.id);
  return {
    queue,
    set,
    id: member.id,
    score: member.score,
    taskId,
    position: { key, id: taskId },
    content,
    next: null,
  };
}

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
