/** The jobs of one set as rows of a list, in its order, read only as far as they are needed. */
import { readMark, writeMark } from '../../../cursor.ts';
import { asNumber, asScored, asTexts } from '../../../redis/replies.ts';
import { comparePositions } from '../../../select/apply-query.ts';
import type { TaskPosition } from '../../../source.ts';
import { keyCommand, type QueueRef, type ReadCommands, taskIdOf } from '../access/queue-reads.ts';
import { type JobContent, lastChange, readContents, type SetEntry } from '../jobs/job-facts.ts';
import { isMarker, type JobSet } from '../jobs/job-sets.ts';

/** A set of a queue. */
export interface QueueSet {
  readonly queue: QueueRef;
  readonly set: JobSet;
}

/** A set, and how many jobs it has. */
export interface CountedSet extends QueueSet {
  readonly count: number;
}

/** A job at its position in the list. */
export interface SetRow extends SetEntry {
  readonly taskId: string;
  readonly position: TaskPosition;
  /** The data that was read of the job; `null` when none was needed. */
  readonly content: JobContent | null;
}

/** Which rows the sets of a walk give, and how many the walk needs. Times in milliseconds. */
export interface RowRange {
  readonly order: 'asc' | 'desc';
  /** Only rows behind this position. */
  readonly after: TaskPosition | null;
  /** Inclusive. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** Whether to read the texts of small jobs, too, because most rows will be shown. */
  readonly withTexts: boolean;
  /** Changes while the walk is read. */
  readonly demand: {
    /** Rows that are missing, one to look ahead included. */
    rows: number;
    /** How many sets they come from. */
    readonly sets: number;
  };
}

/** The longest read of ids. It takes Redis less than a millisecond. */
const MOST_AT_ONCE = 1_000;

/** A member of a set. */
interface SetMember {
  readonly id: string;
  /** `null` in a list. */
  readonly score: number | null;
}

/** @param key time of the row in milliseconds; `null` when it has none */
function rowOf(
  { queue, set }: QueueSet,
  { id, score }: SetMember,
  key: number | null,
  content: JobContent | null,
): SetRow {
  const taskId = taskIdOf(queue.name, id);
  return { queue, set, id, score, taskId, position: { key, id: taskId }, content };
}

/** Members by their rank, counted from the end at which jobs join a list, or from the highest score. */
async function readMembers(
  read: ReadCommands,
  { queue, set: { part, kind } }: QueueSet,
  first: number,
  last: number,
): Promise<readonly SetMember[]> {
  if (kind === 'list') {
    const [reply] = await read([keyCommand(queue, 'LRANGE', part, first, last)]);
    return asTexts(reply).map((id) => ({ id, score: null }));
  }
  const [reply] = await read([keyCommand(queue, 'ZREVRANGE', part, first, last, 'WITHSCORES')]);
  return asScored(reply).map(({ member, score }) => ({ id: member, score }));
}

/** Reads the jobs of members, for their times. A job that is gone is left out. */
async function readRows(
  read: ReadCommands,
  from: QueueSet,
  members: readonly SetMember[],
  withTexts: boolean,
): Promise<readonly (SetRow | null)[]> {
  const { queue, set } = from;
  const jobs = members.map((member) => ({ queue, set, ...member }));
  const contents = await readContents(read, jobs, withTexts);
  return jobs.map((job, index) => {
    const content = isMarker(job.id) ? null : (contents[index] ?? null);
    return content && rowOf(from, job, lastChange(set, job.score, content.facts), content);
  });
}

/**
 * Rows of the newest jobs of a set that time does not sort. They are read and sorted, so pages continue by time and id.
 *
 * A large set is nearly in order and is read only as far as it is needed: a row comes once half of the jobs that were
 * read last are older. Those that come too late for their time are left out.
 *
 * @param most how many jobs of a large set; at least as many as another one has
 */
export async function* newestRows(
  read: ReadCommands,
  from: QueueSet,
  { order, after, demand, withTexts }: RowRange,
  most: number,
  isLarge: boolean,
): AsyncGenerator<SetRow, void, undefined> {
  const compare = (a: SetRow, b: SetRow): number => comparePositions(a.position, b.position, order);
  let [last, middle]: [TaskPosition | null, SetRow | null] = [after, null];
  let pool: SetRow[] = [];
  for (let window = 0, ranks = 0; ; ) {
    const next = pool[0];
    if (next !== undefined && (ranks >= most || middle === null || compare(next, middle) <= 0)) {
      last = next.position;
      pool.shift();
      yield next;
      continue;
    }
    if (ranks >= most) return;
    window = isLarge ? Math.min(indexWindow(window, demand), most - ranks) : most;
    const first = order === 'desc' ? ranks : most - ranks - window;
    const members = await readMembers(read, from, first, first + window - 1);
    ranks += window;
    // If a set is larger than the page, many of its jobs are not shown.
    const found = await readRows(read, from, members, withTexts && members.length <= demand.rows);
    const rows = found.filter((row) => row !== null).sort(compare);
    middle = rows[rows.length >> 1] ?? middle;
    const behind = rows.filter(
      ({ position }) => last === null || comparePositions(position, last, order) > 0,
    );
    pool = [...pool, ...behind].sort(compare);
  }
}

/** A place in a set: the rank of the last row of a page. */
export interface SetPlace {
  readonly queue: string;
  readonly part: string;
  readonly rank: number;
}

const KIND = 'set';

/** @returns `null` for any other text: clients can send anything */
export function readPlace(mark: string | undefined): SetPlace | null {
  const [queue, part, rank] = (mark === undefined ? null : readMark(KIND, mark)) ?? [];
  const isPlace = typeof queue === 'string' && typeof part === 'string' && Number.isSafeInteger(rank);
  return isPlace && Number(rank) >= 0 ? { queue, part, rank: Number(rank) } : null;
}

/** A list is searched this much further than where a job was. It takes Redis about a millisecond. */
const SEARCH_MARGIN = 20_000;
/** After this many successive rows outside the requested times, no others are expected. */
const MOST_BEYOND = 1_000;
/** The least number of jobs that are read at once. */
const LEAST_AT_ONCE = 16;

/**
 * Rows of a set in its own order, for any number of jobs: waiting jobs as they were put in, delayed ones as they fall
 * due, prioritized ones by priority.
 *
 * @param start where the page before ended; `null`: at the beginning
 */
export async function* indexedRows(
  read: ReadCommands,
  from: CountedSet,
  range: RowRange,
  start: SetPlace | null,
): AsyncGenerator<SetRow, void, undefined> {
  const { queue, set, count } = from;
  const isDescending = range.order === 'desc';
  // Workers take jobs from the old end, so in `asc` all jobs before one that is gone are gone, too.
  const begin = isDescending ? (start?.rank ?? 0) : count;
  let at = start === null ? begin : ((await nextRank(read, from, range, start.rank)) ?? begin);
  let window = 0;
  let beyond = 0;
  while (beyond < MOST_BEYOND) {
    window = indexWindow(window, range.demand);
    const first: number = isDescending ? at : Math.max(0, at - window);
    const end: number = isDescending ? at + window : at;
    const members = first < end ? await readMembers(read, from, first, end - 1) : [];
    const rows = await readRows(read, from, members, range.withTexts);
    for (const index of isDescending ? rows.keys() : [...rows.keys()].reverse()) {
      const row = rows[index] ?? null;
      if (row === null) continue;
      const mark = writeMark(KIND, [queue.name, set.part, first + index]);
      yield { ...row, position: { ...row.position, mark } };
      // One priority says nothing about the others.
      beyond = isBeyond(row.position.key, range) && set.part !== 'prioritized' ? beyond + 1 : 0;
    }
    if (isDescending ? members.length < window : first === 0) return;
    at = isDescending ? end : first;
  }
}

/** The rank behind the job at which the page before ended, wherever it is by now; `null`: it is gone. */
async function nextRank(
  read: ReadCommands,
  { queue, set: { part, kind } }: QueueSet,
  { order, after }: RowRange,
  rank: number,
): Promise<number | null> {
  const id = (after?.id ?? '').slice(queue.name.length + 1);
  const [reply] = await read([
    kind === 'list'
      ? keyCommand(queue, 'LPOS', part, id, 'MAXLEN', rank + SEARCH_MARGIN)
      : keyCommand(queue, 'ZREVRANK', part, id),
  ]);
  const found = asNumber(reply);
  return found === null || order === 'asc' ? found : found + 1;
}

/** How many jobs to read. Each costs commands, so with other sets the first read is small. */
function indexWindow(previous: number, { rows, sets }: RowRange['demand']): number {
  const share = previous === 0 ? Math.ceil(rows / (2 * sets)) : 2 * previous;
  const needed = sets === 1 ? rows : Math.min(share, rows);
  return Math.min(Math.max(needed, LEAST_AT_ONCE), MOST_AT_ONCE);
}

function isBeyond(time: TaskPosition['key'], { order, since, until }: RowRange): boolean {
  if (typeof time !== 'number') return false;
  return order === 'desc' ? since !== null && time < since : until !== null && time >= until;
}

/** The first and the last moment that a `Date` can hold. */
const EARLIEST = -8.64e15;
const LATEST = 8.64e15;

/** Rows of a set whose scores are the times of the last change: completed, failed, waiting for children. */
export async function* timedRows(
  read: ReadCommands,
  from: QueueSet,
  range: RowRange,
): AsyncGenerator<SetRow, void, undefined> {
  const { order, after } = range;
  // Rows without a time come last, and there are none in such a set.
  if (after !== null && after.key === null) return;
  let edge = typeof after?.key === 'number' ? after.key : order === 'asc' ? EARLIEST : LATEST;
  const isBehind = ({ position }: SetRow): boolean =>
    after === null || comparePositions(position, after, order) > 0;
  for (let window = 0; ; ) {
    window = timedWindow(window, range.demand);
    const rows = await readFrom(read, from, range, edge, window);
    const last = rows.length < window ? null : (rows.at(-1)?.position.key ?? null);
    // The rows of the last millisecond may continue beyond what was read.
    const known = rows.filter(({ position }) => position.key !== last);
    yield* known.filter(isBehind).sort((a, b) => comparePositions(a.position, b.position, order));
    if (typeof last !== 'number') return;
    edge = last;
    if (known.length > 0) continue;
    for await (const row of rowsOfMillisecond(read, from, last)) if (isBehind(row)) yield row;
    edge += order === 'asc' ? 1 : -1;
  }
}

/** How many members to read. One command reads them all, so there are rather too many. */
function timedWindow(previous: number, { rows, sets }: RowRange['demand']): number {
  // The last member is passed on only when the one behind it is known.
  const share = Math.min(Math.ceil((2 * rows) / sets), rows) + 1;
  return Math.min(Math.max(2 * previous, share, 2), MOST_AT_ONCE);
}

async function readFrom(
  read: ReadCommands,
  from: QueueSet,
  { order, since, until }: RowRange,
  edge: number,
  count: number,
): Promise<readonly SetRow[]> {
  const [low, high] = [since ?? EARLIEST, until ?? LATEST];
  const { queue, set } = from;
  const limit = ['WITHSCORES', 'LIMIT', 0, count] as const;
  // `until` is excluded; the rest of the edge's own millisecond is not.
  const command =
    order === 'asc'
      ? keyCommand(queue, 'ZRANGEBYSCORE', set.part, Math.max(low, edge), `(${high}`, ...limit)
      : keyCommand(queue, 'ZREVRANGEBYSCORE', set.part, `(${Math.min(high, edge + 1)}`, low, ...limit);
  const [reply] = await read([command]);
  return timedRowsOf(from, reply);
}

/** Rows of one millisecond, of which Redis has too many to sort them here. It keeps them in the order of their ids. */
async function* rowsOfMillisecond(
  read: ReadCommands,
  from: QueueSet,
  time: number,
): AsyncGenerator<SetRow, void, undefined> {
  const { queue, set } = from;
  for (let at = 0; ; at += MOST_AT_ONCE) {
    const limit = ['WITHSCORES', 'LIMIT', at, MOST_AT_ONCE] as const;
    const [reply] = await read([
      keyCommand(queue, 'ZRANGEBYSCORE', set.part, time, `(${time + 1}`, ...limit),
    ]);
    const rows = timedRowsOf(from, reply);
    yield* rows;
    if (rows.length < MOST_AT_ONCE) return;
  }
}

function timedRowsOf(from: QueueSet, reply: unknown): readonly SetRow[] {
  return asScored(reply).map(({ member, score }) =>
    rowOf(from, { id: member, score }, Math.floor(score), null),
  );
}
