/**
 * Searches the texts of tasks, which costs microseconds each, in slices that let the host's event loop go on.
 * What is searched is noted before the first slice: the indexes change meanwhile.
 */
import type { TaskPage, TaskPosition, TaskQuery } from '../../source.ts';
import type { SlotWalk } from '../index/slot-walk.ts';
import type { Records } from '../table/records.ts';
import type { Rows } from './rows.ts';

/** Longest stretch of work before the host's event loop gets a turn. */
const SLICE_MS = 8;

/** Tasks to search, in the order of the list, where each stood. */
export interface Searched {
  readonly slots: readonly number[];
  readonly places: readonly TaskPosition[];
  /** Where the walk ended before the list did; `null` when it went to the end. */
  readonly end: TaskPosition | null;
}

/** Steps over slots; −1 behind the last. */
export type Steps = Pick<SlotWalk, 'slot' | 'advance'>;

/** How the list is ordered. */
export interface ListOrder {
  placeOf(slot: number): TaskPosition;
  /** Negative where `a` comes first. */
  compare(a: TaskPosition, b: TaskPosition): number;
}

/** Notes what passes all filters but the text, of no more than `scan` tasks. */
export function noteSearched(
  walk: Steps,
  scan: number,
  passes: (slot: number) => boolean,
  { placeOf }: ListOrder,
): Searched {
  const slots: number[] = [];
  const places: TaskPosition[] = [];
  let last = -1;
  for (let looked = 0; walk.slot !== -1; walk.advance(), looked += 1) {
    if (looked >= scan) return { slots, places, end: placeOf(last) };
    last = walk.slot;
    if (!passes(last)) continue;
    slots.push(last);
    places.push(placeOf(last));
  }
  return { slots, places, end: null };
}

/** What is searched. */
export interface SearchOf {
  readonly records: Records;
  readonly rows: Rows;
  readonly order: ListOrder;
  /** Takes in what has changed since it was called last. */
  catchUp(): void;
}

/**
 * A page of what the text is found in.
 *
 * @param isWhole whether all that passes the filters is there, so that it can be counted
 */
export async function searchTexts(
  searched: Searched,
  query: TaskQuery,
  isWhole: boolean,
  { records, rows, order, catchUp }: SearchOf,
): Promise<TaskPage> {
  const { slots, places } = searched;
  const { limit, after } = query;
  const found: number[] = [];
  let total = 0;
  let hasMore = false;
  let start = performance.now();
  for (const [at, slot] of slots.entries()) {
    if (performance.now() - start > SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      start = performance.now();
    }
    const place = places[at] as TaskPosition;
    if (!isThere(slot, place) || !query.search(rows.brief(slot))) continue;
    total += 1;
    if (isWhole && after !== null && order.compare(place, after) <= 0) continue;
    if (found.length < limit) {
      found.push(at);
      continue;
    }
    hasMore = true;
    if (!isWhole) break;
  }
  const next = limit === 0 ? null : hasMore ? (places[found.at(-1) as number] as TaskPosition) : searched.end;
  return { tasks: pageOf(), next, total: isWhole ? total : null };

  /** A task may have been dropped meanwhile, and its slot been given to another. */
  function isThere(slot: number, { id }: TaskPosition): boolean {
    return records.indexed[slot] === 1 && records.ids[slot] === id;
  }

  /**
   * One that has moved meanwhile stands where it belongs now. Where that is on another page it is left out:
   * behind this one it is met again, and before it `since` finds it.
   */
  function pageOf(): TaskPage['tasks'] {
    catchUp();
    const rowsOf = found
      .filter((at) => isThere(slots[at] as number, places[at] as TaskPosition))
      .map((at) => ({
        slot: slots[at] as number,
        place: order.placeOf(slots[at] as number),
        was: places[at] as TaskPosition,
      }))
      .filter(({ place, was }) => {
        if (order.compare(place, was) === 0) return true;
        return (
          (after === null || order.compare(place, after) > 0) &&
          (next === null || order.compare(place, next) <= 0)
        );
      });
    return rowsOf.sort((a, b) => order.compare(a.place, b.place)).map(({ slot }) => rows.get(slot));
  }
}
