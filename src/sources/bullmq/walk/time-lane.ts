/** The lane of a set that Redis keeps in the order of time: completed, failed, waiting for children. */

import { asCount, asScored } from '../../../redis/replies.ts';
import type { JobSet } from '../job-sets.ts';
import type { QueueRef } from '../queue-ref.ts';
import { type Lane, type LaneRange, type LaneRow, type LaneStep, MOST_AT_ONCE, timedRow } from './lane.ts';

/** Times that a Date can hold. */
const EARLIEST = -8.64e15;
const LATEST = 8.64e15;

/** Every page goes on by time and id alone, whatever has happened to the set. */
export function* timeLane(queue: QueueRef, set: JobSet, range: LaneRange): Lane {
  const { order, after } = range;
  // What has no time comes last, and is not in such a set.
  if (after !== null && after.key === null) return;
  const key = queue.key(set.part);
  const isAscending = order === 'asc';
  const low = range.since ?? EARLIEST;
  const high = range.until ?? LATEST;
  let edge = after?.key ?? (isAscending ? low : high);
  let window = Math.min(Math.max(range.window, 2), MOST_AT_ONCE);

  const isBehind = ({ key: time, taskId }: LaneRow): boolean => {
    if (after === null || after.key === null || time === null) return true;
    if (time === after.key) return taskId > after.id;
    return isAscending ? time > after.key : time < after.key;
  };

  for (;;) {
    // `until` itself is excluded; the whole millisecond of an edge is not.
    const from = String(Math.max(low, isAscending ? edge : low));
    const to = `(${Math.min(high, isAscending ? high : edge + 1)}`;
    const limit = ['WITHSCORES', 'LIMIT', '0', String(window)] as const;
    const [reply] = yield {
      ask: [
        {
          queue,
          command: isAscending
            ? ['ZRANGEBYSCORE', key, from, to, ...limit]
            : ['ZREVRANGEBYSCORE', key, to, from, ...limit],
        },
      ],
    };
    const runs = runsOf(asScored(reply).map((scored) => timedRow(queue, set, scored)));
    const isLast = runs.reduce((sum, run) => sum + run.length, 0) < window;
    // The last run may go on behind what was read.
    const open = isLast ? undefined : runs.pop();
    const openKey = open?.[0]?.key ?? null;
    if (runs.length > 0) yield { rows: runs.flatMap(byId).filter(isBehind) };
    if (openKey === null) return;
    if (runs.length > 0) {
      edge = openKey;
    } else {
      yield* longRun(queue, set, openKey, after?.key === openKey ? after.id : null);
      edge = isAscending ? openKey + 1 : openKey - 1;
    }
    window = Math.min(window * 2, MOST_AT_ONCE);
  }
}

/** Rows of one millisecond, which Redis has by id: too many to be sorted here. */
function* longRun(queue: QueueRef, set: JobSet, time: number, afterId: string | null): Lane {
  const key = queue.key(set.part);
  const [below, count] = yield {
    ask: [
      { queue, command: ['ZCOUNT', key, '-inf', `(${time}`] },
      { queue, command: ['ZCOUNT', key, String(time), `(${time + 1}`] },
    ],
  };
  const first = asCount(below);
  const end = first + asCount(count);
  let at = first;
  // The first one behind that id, by halves.
  for (let until = end; afterId !== null && at < until; ) {
    const middle = Math.floor((at + until) / 2);
    const [row] = yield* ranks(queue, set, middle, middle);
    if (row !== undefined && row.taskId > afterId) until = middle;
    else at = middle + 1;
  }
  for (; at < end; at += MOST_AT_ONCE) {
    const rows = yield* ranks(queue, set, at, Math.min(end, at + MOST_AT_ONCE) - 1);
    if (rows.length === 0) return;
    yield { rows };
  }
}

function* ranks(
  queue: QueueRef,
  set: JobSet,
  from: number,
  to: number,
): Generator<LaneStep, readonly LaneRow[], readonly unknown[]> {
  const command = ['ZRANGE', queue.key(set.part), String(from), String(to), 'WITHSCORES'] as const;
  const [reply] = yield { ask: [{ queue, command }] };
  return asScored(reply).map((scored) => timedRow(queue, set, scored));
}

/** Rows in a row that have the same time. */
export function runsOf<Row extends { readonly key: number | null }>(rows: readonly Row[]): Row[][] {
  const runs: Row[][] = [];
  for (const row of rows) {
    const run = runs.at(-1);
    if (run !== undefined && run[0]?.key === row.key) run.push(row);
    else runs.push([row]);
  }
  return runs;
}

/** Ties are in the order of the tasks' ids. */
export function byId<Row extends { readonly taskId: string }>(run: readonly Row[]): readonly Row[] {
  return run.length < 2 ? run : run.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1));
}
