/** One list of the jobs of many sets, a page at a time: the lanes merged by time. */

import type { ReadOptions } from '../../../redis/reader.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { TaskPosition } from '../../../source.ts';
import type { JobSet } from '../job-sets.ts';
import type { QueueAccess, QueueCommand } from '../queue-access.ts';
import type { QueueRef } from '../queue-ref.ts';
import type { Foothold, LaneRow, Place } from './lane.ts';
import { type CountedSet, countSets, type OpenLane, openLanes } from './lanes.ts';
import { readMark, writeMark } from './mark.ts';
import type { StreamStart } from './stream-lane.ts';

/** What to walk over. */
export interface WalkPlan {
  readonly queues: readonly QueueRef[];
  readonly sets: readonly JobSet[];
  readonly order: 'asc' | 'desc';
  /** A place that a walk gave, or the key and id of a row alone. */
  readonly after: TaskPosition | null;
  /** Inclusive, in milliseconds; `null`: no bound. */
  readonly since: number | null;
  /** Exclusive. Rows outside may come nevertheless. */
  readonly until: number | null;
  /** About how many rows will be asked for. */
  readonly expected: number;
}

/** A list of jobs, read as far as it is asked for. */
export interface Walk {
  /** Jobs in each set, as they were counted at its start. */
  readonly counts: readonly CountedSet[];
  /** The next rows, each job once; fewer than `count` at the end alone. */
  next(count: number): Promise<readonly LaneRow[]>;
  /** Whether there is another row. */
  hasMore(): Promise<boolean>;
  /**
   * Where to go on behind the first so many rows of the last {@link Walk.next}; `null` before any row.
   *
   * @param count default: all of them
   */
  position(count?: number): TaskPosition | null;
}

/** Where a lane stands. */
interface Standing {
  readonly rows: readonly LaneRow[];
  /** Rows taken of them. */
  readonly taken: number;
  /** The last row that was taken of them, or of them on the page before. */
  readonly last: Place | null;
  readonly at: (() => Foothold) | undefined;
  readonly behind: (() => Foothold) | undefined;
  readonly isDone: boolean;
}

/** A lane under way. */
interface Runner {
  readonly open: OpenLane;
  now: Standing;
  /** Where time does not sort, that of a row that has none: the time of the row before it. */
  time: number | null;
  replies: readonly unknown[];
}

/** A row that was given, and what that changed. */
interface Taken {
  readonly row: LaneRow;
  readonly runner: Runner;
  readonly before: Standing;
  readonly after: Standing;
  readonly place: Place;
  readonly exact: Place | null;
}

export async function createWalk(access: QueueAccess, plan: WalkPlan, options: ReadOptions): Promise<Walk> {
  const { order, after } = plan;
  const counts = await countSets(access, plan.queues, options);
  const sets = counts.filter(({ set }) => plan.sets.includes(set));
  const mark = after?.mark === undefined ? null : readMark(after.mark);
  const here = after === null ? null : placeAt(after);
  let exact = mark === null ? here : mark.exact;
  const window = Math.ceil((2 * plan.expected) / Math.max(1, sets.length)) + 1;
  const range = {
    order,
    after: exact,
    since: plan.since,
    until: plan.until,
    window: Math.min(window, plan.expected + 1),
  };
  const lanes = await openLanes(access, sets, range, mark, exact ?? here, options);
  const runners = lanes.map(runnerOf);
  const hasStreams = mark !== null || lanes.some(({ isExact }) => !isExact);
  const seen = new Set<string>();
  /** Rows of the last `next`. */
  let log: Taken[] = [];
  /** Where the list stood before them. */
  let before: { readonly last: Place | null; readonly exact: Place | null } = { last: null, exact };

  /** Reads on until every lane has a row, or has ended. */
  async function fill(): Promise<void> {
    let needy = runners.filter(isEmpty);
    while (needy.length > 0) {
      const asked = needy.flatMap((runner) => advance(runner));
      if (asked.length > 0) {
        const replies = await access.read(
          asked.flatMap(({ ask }) => ask),
          options,
        );
        let from = 0;
        for (const { runner, ask } of asked) {
          runner.replies = replies.slice(from, from + ask.length);
          from += ask.length;
        }
      }
      needy = needy.filter(isEmpty);
    }
  }

  /** The lane whose next row comes first, after rows have been passed over that came before. */
  async function front(): Promise<{ readonly runner: Runner; readonly row: LaneRow } | null> {
    for (;;) {
      await fill();
      let best: { readonly runner: Runner; readonly row: LaneRow; readonly place: Place } | null = null;
      for (const runner of runners) {
        const row = runner.now.rows[runner.now.taken];
        if (row === undefined) continue;
        // A lane that is sorted by time has those without one at its end, where the next page looks for them.
        const key = runner.open.isExact ? row.key : (row.key ?? runner.time);
        const place = { key, id: row.taskId };
        if (best === null || comparePositions(place, best.place, order) < 0) best = { runner, row, place };
      }
      if (best === null || !seen.has(best.row.taskId)) return best;
      take(best.runner, best.row);
    }
  }

  function take(runner: Runner, row: LaneRow): void {
    const last = { key: row.key, id: row.taskId };
    runner.now = { ...runner.now, taken: runner.now.taken + 1, last };
    runner.time = row.key ?? runner.time;
    if (runner.open.isExact) exact = last;
  }

  /** Where a lane stood when so many rows of the log had been given. */
  function standingAt(runner: Runner, count: number): Standing {
    const own = (entry: Taken): boolean => entry.runner === runner;
    const given = log.slice(0, count).findLast(own);
    return given?.after ?? log.slice(count).find(own)?.before ?? runner.now;
  }

  return {
    counts,
    async next(count) {
      before = { last: log.at(-1)?.place ?? before.last, exact };
      log = [];
      while (log.length < count) {
        const found = await front();
        if (found === null) break;
        const { runner, row } = found;
        const standing = runner.now;
        take(runner, row);
        seen.add(row.taskId);
        const place = { key: row.key, id: row.taskId };
        log.push({ row, runner, before: standing, after: runner.now, place, exact });
      }
      return log.map(({ row }) => row);
    },
    hasMore: async () => (await front()) !== null,
    position(count = log.length) {
      const { place: last, exact: exactLast } = log[count - 1] ?? { place: before.last, exact: before.exact };
      if (last === null) return after;
      if (!hasStreams) return last;
      const ended = [...(mark?.lanes ?? [])].filter(([, start]) => start === null);
      const standing = runners
        .filter(({ open }) => !open.isExact)
        .map((runner) => [runner.open.key, startOf(standingAt(runner, count))] as const);
      return { ...last, mark: writeMark({ exact: exactLast, lanes: new Map([...ended, ...standing]) }) };
    },
  };
}

function placeAt({ key, id }: TaskPosition): Place {
  return { key: typeof key === 'number' ? key : null, id };
}

function runnerOf(open: OpenLane): Runner {
  const now = { rows: [], taken: 0, last: open.last, at: undefined, behind: undefined, isDone: false };
  return { open, now, time: open.last?.key ?? null, replies: [] };
}

function isEmpty({ now: { rows, taken, isDone } }: Runner): boolean {
  return taken >= rows.length && !isDone;
}

/** Lets a lane go on; what it asks for, if it asks. */
function advance(
  runner: Runner,
): readonly { readonly runner: Runner; readonly ask: readonly QueueCommand[] }[] {
  const { value, done } = runner.open.lane.next(runner.replies);
  const { now } = runner;
  runner.replies = [];
  if (done || value === undefined) {
    runner.now = { ...now, isDone: true };
    return [];
  }
  if ('ask' in value) return [{ runner, ask: value.ask }];
  const { rows, at, behind } = value;
  // What the page before listed of a run is told apart in the first run alone.
  const last = now.behind === undefined ? now.last : null;
  runner.now = { rows, taken: 0, last, at, behind, isDone: false };
  return [];
}

/** Where a lane goes on that is found again by its neighbours; `null` when it has ended. */
function startOf({ rows, taken, last, at, behind, isDone }: Standing): StreamStart | null {
  if (taken < rows.length) return { hold: at?.() ?? null, last };
  return isDone ? null : { hold: behind?.() ?? null, last: null };
}
