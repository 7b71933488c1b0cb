/**
 * The lane of a set of many jobs that Redis does not keep in the order of their last change: waiting ones
 * in the order in which they were put in, prioritized ones likewise for each priority, delayed ones in the
 * order in which they are due. Its rows come in that order, which is that of time as long as no job has
 * been delayed or put in front before; a job that time would place elsewhere comes when its turn is. Where
 * a page ended is found again by the jobs that stand next to it, so that none is lost or comes twice.
 */
import { factsCommand, factsOf, lastChange } from '../job-facts.ts';
import { isMarker } from '../job-sets.ts';
import type { Foothold, Lane, LaneRange, LaneRow, LaneStep, Place } from './lane.ts';
import { MOST_AT_ONCE, readRows } from './lane.ts';
import type { Strip, StripItem } from './strip.ts';
import { byId, runsOf } from './time-lane.ts';

/** Where a page before this one left the lane. */
export interface StreamStart {
  /** `null`: not known, found by the time of `last`. */
  readonly hold: Foothold | null;
  /** The last row that was listed of those behind it; `null`: none. */
  readonly last: Place | null;
}

/** Jobs read again behind each window, to see that nothing has moved. */
const OVERLAP = 16;
/** Neighbours kept: the nearest, and some that are further off, as jobs next to each other leave together. */
const NEIGHBOURS = [0, 1, 7];
/** After so many rows beyond the times asked for, no more are expected. */
const MOST_BEYOND = 1_000;
/** Probes of each round of a search: a million jobs take five rounds. */
const FANOUT = 16;

export function* streamLane(strip: Strip, range: LaneRange, start: StreamStart): Lane {
  const { queue, set } = strip;
  let window = Math.min(Math.max(range.window, OVERLAP), MOST_AT_ONCE);
  let skip = start.last;
  let beyond = 0;
  const size = yield* strip.size();
  let index = yield* firstIndex(strip, range, start);
  /** Jobs before the next one, in the order of the walk, and where among them rows end that were read. */
  let passed: string[] = [...(start.hold?.before ?? [])].reverse();
  const ends = new Map<string, number>();
  let held: readonly LaneRow[] = [];
  let from = passed.length;

  /** Asked for at the end of a page alone, when more may have been passed. */
  function footholdAt(place: number): () => Foothold {
    const all = passed;
    const first = index - all.length;
    return () => ({
      index: first + place,
      size,
      before: NEIGHBOURS.flatMap((distance) => (place > distance ? (all[place - 1 - distance] ?? []) : [])),
    });
  }

  for (;;) {
    const back = Math.min(index, passed.length > 0 ? OVERLAP : 0);
    const { items, isEnd } = yield* strip.slice(index - back, back + window);
    const fresh = behindLast(items, passed, back);
    if (fresh === null) {
      const { before } = footholdAt(passed.length)();
      const found = yield* strip.find({ index, size, before });
      // Where all of them have gone at once, what stood behind them stands about there.
      passed = found === null ? [] : passed.slice(0, passed.lastIndexOf(found.id) + 1);
      if (found !== null) index = found.index + 1;
      from = Math.min(from, passed.length);
      continue;
    }
    for (const { id } of fresh) ends.set(id, passed.push(id));
    index += fresh.length;
    const rows = yield* readRows(
      queue,
      set,
      fresh.filter(({ id }) => !isMarker(id)),
    );
    const runs = runsOf([...held, ...rows]);
    held = isEnd ? [] : (runs.pop() ?? []);
    // One that does not end is cut: its rows are sorted in parts.
    if (held.length >= MOST_AT_ONCE) {
      runs.push([...held]);
      held = [];
    }
    for (const run of runs) {
      const listed = skip;
      const wanted = listed === null ? run : run.filter((row) => !isListed(row, listed));
      const to = ends.get(run.at(-1)?.id ?? '') ?? passed.length;
      yield {
        rows: byId(wanted),
        at: footholdAt(from),
        behind: footholdAt(to),
      };
      skip = null;
      from = to;
      beyond = run.every(({ key }) => isBeyond(key, range)) ? beyond + run.length : 0;
      if (beyond >= MOST_BEYOND) return;
    }
    if (isEnd) return;
    window = Math.min(window * 2, MOST_AT_ONCE);
  }
}

/** What comes behind the last one passed; `null` when that is not where it was. */
function behindLast(
  items: readonly StripItem[],
  passed: readonly string[],
  back: number,
): readonly StripItem[] | null {
  const last = passed.at(-1);
  if (last === undefined) return items.slice(back);
  const place = items.findIndex(({ id }) => id === last);
  return place < 0 ? null : items.slice(place + 1);
}

/** Rows of the run in which a page ended. */
function isListed({ key, taskId }: LaneRow, last: Place): boolean {
  return key === last.key && taskId <= last.id;
}

function isBeyond(key: number | null, { order, since, until }: LaneRange): boolean {
  if (key === null) return false;
  return order === 'desc' ? since !== null && key < since : until !== null && key >= until;
}

function* firstIndex(
  strip: Strip,
  { order, since, until }: LaneRange,
  { hold, last }: StreamStart,
): Generator<LaneStep, number, readonly unknown[]> {
  if (hold !== null) {
    if (hold.before.length === 0) return 0;
    const found = yield* strip.find(hold);
    if (found !== null) return found.index + 1;
  }
  const time = last?.key ?? (order === 'desc' ? until : since);
  return time === null ? 0 : yield* indexOfTime(strip, order, time);
}

/** The first job that is not before this time in the order of the walk, by halves of the list. */
function* indexOfTime(
  strip: Strip,
  order: 'asc' | 'desc',
  time: number,
): Generator<LaneStep, number, readonly unknown[]> {
  let low = 0;
  let high = yield* strip.size();
  while (low < high) {
    const step = Math.max(1, Math.ceil((high - low) / FANOUT));
    const probes: number[] = [];
    for (let at = low; at < high; at += step) probes.push(at);
    const times = yield* timesAt(strip, probes);
    const first = times.findIndex(
      (found) => found !== null && (order === 'desc' ? found <= time : found >= time),
    );
    const from = first < 0 ? (probes.at(-1) ?? low) : (probes[first - 1] ?? low - 1);
    const to = first < 0 ? high : (probes[first] ?? high);
    low = from + 1;
    high = to;
  }
  return high;
}

function* timesAt(
  strip: Strip,
  indexes: readonly number[],
): Generator<LaneStep, readonly (number | null)[], readonly unknown[]> {
  const items = yield* strip.at(indexes);
  const present = items.filter((item) => item !== null);
  const replies = yield { ask: present.map(({ id }) => factsCommand(strip.queue, id)) };
  const times = new Map(
    present.map(({ id, score }, place) => {
      const facts = factsOf(replies[place]);
      return [id, facts === null ? null : lastChange(strip.set, score, facts)];
    }),
  );
  return items.map((item) => (item === null ? null : (times.get(item.id) ?? null)));
}
