/** Where a list of several sources stands: one place, which holds a place for each of them. */

import { isTaskPosition } from '../source/pages.ts';
import type { TaskPosition } from '../source.ts';

/** Where one part goes on: behind this place, from its start (`null`), or not at all. */
export type Standing = TaskPosition | 'ended' | null;

// A cursor of more than 8,192 characters is refused, and a third of it is lost to its encoding.
const LONGEST_MARK = 5_000;
const ENDED = 0;

/** Reads where each part stands. What the mark does not tell stands at the common place. */
export function standingsOf(after: TaskPosition | null, names: readonly string[]): readonly Standing[] {
  if (after === null) return names.map(() => null);
  const told = readMark(after.mark);
  const { key, id } = after;
  const common = told !== null && id === '' ? null : { key, id };
  return names.map((name) =>
    told !== null && Object.hasOwn(told, name) ? readEntry(told[name], common) : common,
  );
}

/**
 * Writes one place for all.
 *
 * @param last the last row that was listed, at which every part stands that finds no room in the mark
 */
export function placeOfAll(
  last: Pick<TaskPosition, 'key' | 'id'> | null,
  standings: readonly (readonly [name: string, Standing])[],
): TaskPosition {
  const entries = standings.map(([name, standing]) => [name, writeEntry(standing)] as const);
  let mark = JSON.stringify(Object.fromEntries(entries));
  // The longest are left out first: a mark of their own takes most of them.
  const byLength = entries.toSorted((a, b) => lengthOf(a) - lengthOf(b));
  while (JSON.stringify(mark).length > LONGEST_MARK && byLength.length > 0) {
    byLength.pop();
    mark = JSON.stringify(Object.fromEntries(byLength));
  }
  return { key: last?.key ?? null, id: last?.id ?? '', mark };
}

function lengthOf(entry: unknown): number {
  return JSON.stringify(entry).length;
}

function writeEntry(standing: Standing): unknown {
  if (standing === null) return null;
  if (standing === 'ended') return ENDED;
  const { key, id, mark } = standing;
  return mark === undefined ? [key, id] : [key, id, mark];
}

function readEntry(entry: unknown, common: TaskPosition | null): Standing {
  if (entry === null) return null;
  if (entry === ENDED) return 'ended';
  if (!Array.isArray(entry)) return common;
  const [key, id, mark]: readonly unknown[] = entry;
  const position = { key, id, ...(mark !== undefined && { mark }) };
  return isTaskPosition(position) ? position : common;
}

/** A client has had it in its hands: it may be anything. */
function readMark(mark: string | undefined): Readonly<Record<string, unknown>> | null {
  try {
    const told: unknown = mark === undefined ? null : JSON.parse(mark);
    return typeof told === 'object' ? (told as Readonly<Record<string, unknown>> | null) : null;
  } catch {
    return null;
  }
}
