/** A position in a task list of several parts: its mark contains the position of each part. */

import { readMark, writeMark } from '../cursor.ts';
import { isTaskPosition } from '../source/pages.ts';
import type { TaskPosition, TaskSort } from '../source.ts';

/** Where the list of one part continues: after this position, at its start (`null`), or not at all. */
export type PartPosition = TaskPosition | 'ended' | null;

const KIND = 'combined';

// In bytes of JSON. A cursor of more than 8,192 characters is refused, and its encoding adds a third to its length. Key
// and id of the last row are beside the mark.
const LONGEST_MARK = 5_000;
const LONGEST_POSITION = 6_100;
const ENDED = 0;
const INEXACT = 1;

/** The position of each part, in their order. */
interface PartPositions {
  readonly positions: readonly PartPosition[];
  /** Whether no page before was one that may miss rows, see `TaskPage.cursorExact`. */
  readonly isExact: boolean;
}

/** Reads the position of each part. A part that the mark does not name continues after the last listed row. */
export function readPartPositions(
  after: TaskPosition | null,
  names: readonly string[],
  sort: TaskSort,
): PartPositions {
  if (after === null) return { positions: names.map(() => null), isExact: true };
  const [entries, inexact] = readEntries(after.mark);
  const { key, id } = after;
  const common = entries !== null && id === '' ? null : { key, id };
  const positions = names.map((name) =>
    entries !== null && Object.hasOwn(entries, name) ? readEntry(entries[name], common, sort) : common,
  );
  return { positions, isExact: inexact !== INEXACT };
}

/**
 * Writes one position for all parts.
 *
 * @param last the last listed row; parts that do not fit into the mark continue after it
 * @param wasExact whether no page so far was one that may miss rows
 */
export function writePartPositions(
  last: Pick<TaskPosition, 'key' | 'id'> | null,
  positions: readonly (readonly [name: string, PartPosition])[],
  wasExact: boolean,
): { readonly position: TaskPosition; readonly isExact: boolean } {
  const entries = positions.map(([name, position]) => [name, writeEntry(position)] as const);
  let isExact = wasExact;
  let mark = markOf(entries, isExact);
  // The longest entries are left out first: most of their length is a mark of their own.
  const byLength = entries.toSorted((a, b) => lengthOf(a) - lengthOf(b));
  const room = Math.min(LONGEST_MARK, LONGEST_POSITION - lengthOf([last?.key ?? null, last?.id ?? '']));
  while (lengthOf(mark) > room && byLength.length > 0) {
    byLength.pop();
    isExact = false;
    mark = markOf(byLength, isExact);
  }
  return { position: { key: last?.key ?? null, id: last?.id ?? '', mark }, isExact };
}

function markOf(entries: readonly (readonly [name: string, unknown])[], isExact: boolean): string {
  const positions = Object.fromEntries(entries);
  return writeMark(KIND, isExact ? [positions] : [positions, INEXACT]);
}

function lengthOf(entry: unknown): number {
  return Buffer.byteLength(JSON.stringify(entry));
}

function writeEntry(position: PartPosition): unknown {
  if (position === null) return null;
  if (position === 'ended') return ENDED;
  const { key, id, mark } = position;
  return mark === undefined ? [key, id] : [key, id, mark];
}

function readEntry(entry: unknown, common: TaskPosition | null, sort: TaskSort): PartPosition {
  if (entry === null) return null;
  if (entry === ENDED) return 'ended';
  if (!Array.isArray(entry)) return common;
  const [key, id, mark]: readonly unknown[] = entry;
  const position = { key, id, ...(mark !== undefined && { mark }) };
  return isTaskPosition(position, sort) ? position : common;
}

/** Clients can change a mark, so its shape is unknown. */
function readEntries(
  mark: string | undefined,
): readonly [entries: Readonly<Record<string, unknown>> | null, inexact: unknown] {
  const [entries, inexact] = (mark === undefined ? null : readMark(KIND, mark)) ?? [];
  const isRecord = typeof entries === 'object';
  return [isRecord ? (entries as Readonly<Record<string, unknown>> | null) : null, inexact];
}
