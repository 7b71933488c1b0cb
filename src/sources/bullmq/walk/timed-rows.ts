/** Rows of a set whose scores are the times of the last change: completed, failed, waiting for children. */

import { asCount, asScored } from '../../../redis/replies.ts';
import type { QueueRef, ReadCommands } from '../access/queue-reads.ts';
import type { JobSet } from '../jobs/job-sets.ts';
import { type Demand, MOST_AT_ONCE, rowOf, type SequenceRange, type SequenceRow } from './job-sequence.ts';

/** The first and the last moment that a `Date` can hold. */
const EARLIEST = -8.64e15;
const LATEST = 8.64e15;

/** Pages continue by time and id alone, whatever has happened to the set in between. */
export async function* timedRows(
  read: ReadCommands,
  queue: QueueRef,
  set: JobSet,
  range: SequenceRange,
): AsyncGenerator<SequenceRow, void, undefined> {
  const { order, after } = range;
  // Rows without a time come last, and there are none in such a set.
  if (after !== null && after.key === null) return;
  const isAscending = order === 'asc';
  let edge = after?.key ?? (isAscending ? EARLIEST : LATEST);
  let window = 0;
  for (;;) {
    window = nextWindow(window, range.demand);
    const rows = await readFrom(read, queue, set, range, edge, window);
    const runs = runsOfOneTime(rows);
    // The last run may continue beyond what was read.
    const open = rows.length < window ? undefined : runs.pop();
    for (const run of runs) yield* sortedById(run).filter((row) => isBehind(row, range));
    const time = open?.[0]?.position.key ?? null;
    if (time === null) return;
    if (runs.length > 0) {
      edge = time;
    } else {
      yield* rowsOfMillisecond(read, queue, set, time, after?.key === time ? after.id : null);
      edge = isAscending ? time + 1 : time - 1;
    }
  }
}

/** How many members to read. One command reads them all, so there are rather too many. */
function nextWindow(previous: number, { rows, sequences }: Demand): number {
  // The last member is passed on only when the one behind it is known.
  const share = Math.min(Math.ceil((2 * rows) / sequences), rows) + 1;
  return Math.min(Math.max(2 * previous, share, 2), MOST_AT_ONCE);
}

async function readFrom(
  read: ReadCommands,
  queue: QueueRef,
  set: JobSet,
  { order, since, until }: SequenceRange,
  edge: number,
  count: number,
): Promise<readonly SequenceRow[]> {
  const [low, high] = [since ?? EARLIEST, until ?? LATEST];
  const key = queue.key(set.part);
  const limit = ['WITHSCORES', 'LIMIT', '0', String(count)] as const;
  // `until` is excluded; the rest of the edge's own millisecond is not.
  const command =
    order === 'asc'
      ? (['ZRANGEBYSCORE', key, String(Math.max(low, edge)), `(${high}`, ...limit] as const)
      : (['ZREVRANGEBYSCORE', key, `(${Math.min(high, edge + 1)}`, String(low), ...limit] as const);
  const [reply] = await read([{ queue, command }]);
  return timedRowsOf(queue, set, reply);
}

/** Rows of one millisecond, of which Redis has too many to sort them here. It keeps them in the order of their ids. */
async function* rowsOfMillisecond(
  read: ReadCommands,
  queue: QueueRef,
  set: JobSet,
  time: number,
  afterId: string | null,
): AsyncGenerator<SequenceRow, void, undefined> {
  const key = queue.key(set.part);
  const readRanks = async (from: number, to: number): Promise<readonly SequenceRow[]> => {
    const command = ['ZRANGE', key, String(from), String(to), 'WITHSCORES'] as const;
    const [reply] = await read([{ queue, command }]);
    return timedRowsOf(queue, set, reply);
  };
  const [earlier, count] = await read([
    { queue, command: ['ZCOUNT', key, '-inf', `(${time}`] },
    { queue, command: ['ZCOUNT', key, String(time), `(${time + 1}`] },
  ]);
  let at = asCount(earlier);
  const end = at + asCount(count);
  // Finds the first one behind `afterId` by bisection.
  for (let until = end; afterId !== null && at < until; ) {
    const middle = (at + until) >> 1;
    const [row] = await readRanks(middle, middle);
    if (row !== undefined && row.taskId > afterId) until = middle;
    else at = middle + 1;
  }
  for (; at < end; at += MOST_AT_ONCE) {
    yield* await readRanks(at, Math.min(end, at + MOST_AT_ONCE) - 1);
  }
}

function timedRowsOf(queue: QueueRef, set: JobSet, reply: unknown): readonly SequenceRow[] {
  return asScored(reply).map(({ member, score }) =>
    rowOf(queue, set, { id: member, score }, Math.floor(score), null),
  );
}

function isBehind({ position: { key, id } }: SequenceRow, { order, after }: SequenceRange): boolean {
  if (after === null || after.key === null || key === null) return true;
  if (key === after.key) return id > after.id;
  return order === 'asc' ? key > after.key : key < after.key;
}

/** Groups neighbours that have the same time. */
function runsOfOneTime(rows: readonly SequenceRow[]): SequenceRow[][] {
  const runs: SequenceRow[][] = [];
  for (const row of rows) {
    const run = runs.at(-1);
    if (run !== undefined && run[0]?.position.key === row.position.key) run.push(row);
    else runs.push([row]);
  }
  return runs;
}

function sortedById(run: readonly SequenceRow[]): readonly SequenceRow[] {
  return run.length < 2 ? run : run.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1));
}
