/** One list of the jobs of many sets, read page by page: the rows of the sets, merged by time. */

import { readMark, writeMark } from '../../../cursor.ts';
import { mergeSortedAsync } from '../../../merge-sorted.ts';
import { asCount, asNumber, asScored } from '../../../redis/replies.ts';
import { comparePositions } from '../../../select/apply-query.ts';
import type { TaskPosition } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { keyCommand, type QueueRef, type ReadCommands, taskIdOf } from '../access/queue-reads.ts';
import { type JobContent, lastChange, readContents } from '../jobs/job-hash.ts';
import type { FoundJob } from '../jobs/job-loader.ts';
import { findPaused, isMarker, type JobSet, setIn } from '../jobs/job-sets.ts';
import { batchReads, createMembers, type ReadMembers, type SetMember } from './set-members.ts';

/** What to list. */
export interface WalkPlan {
  readonly queues: readonly QueueRef[];
  readonly sets: readonly JobSet[];
  /** In BullMQ's words; empty: all. */
  readonly engineStates: readonly string[];
  readonly order: 'asc' | 'desc';
  /** The position of a row. */
  readonly after: TaskPosition | null;
  /** Inclusive, in milliseconds; `null`: no bound. Rows outside the bounds may still be included. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** Whether most rows will be shown, so that the texts of small jobs may be read with them. */
  readonly withTexts: boolean;
  /**
   * Which jobs of large sets that time does not sort come. `newest`: the newest, sorted; `all`: all of them, roughly by
   * time, so that no page can continue. If there is only one set, `newest` means all jobs in its own order, and pages
   * continue there; `newest by time` does not.
   */
  readonly large: 'newest' | 'newest by time' | 'all';
}

/** A job at its position in the list. */
export interface SetRow extends FoundJob {
  readonly taskId: string;
  readonly position: TaskPosition;
}

/** A set of a queue. */
interface QueueSet {
  readonly queue: QueueRef;
  readonly set: JobSet;
  /** How many jobs it has; absent where time sorts it. */
  readonly count?: number;
}

/** What the rows of all sets are read with. */
interface Reading extends Pick<WalkPlan, 'order' | 'after' | 'since' | 'until' | 'withTexts'> {
  readonly read: ReadCommands;
  readonly members: ReadMembers;
  /** Changes while the walk is read. */
  readonly demand: {
    /** Rows that are missing, one to look ahead included. */
    rows: number;
    /** How many sets they come from. */
    readonly sets: number;
  };
}

/** Jobs of a set that are sorted here; fewer each if there are many sets. */
const MOST_SORTED = 1_000;
const LEAST_SORTED = 50;
const MOST_SORTED_IN_ALL = 3_000;
/** How many more are read of a smaller set, which may have grown since its jobs were counted. */
const MARGIN = 200;

/** A list of jobs, read on demand. */
export async function createWalk(access: QueueAccess, plan: WalkPlan) {
  const { order, since, until, after, large } = plan;
  const read = batchReads(access);
  const isBegin = plan.queues.length === 1 && order === 'desc' && after === null;
  const unsortedSets = allSets(plan).filter(({ set }) => !set.isByTime);
  const members = createMembers(read, isBegin ? unsortedSets : []);
  const counting = countSets(read, plan);
  // A caller that does not ask for the count needs none.
  counting.catch(() => {});
  // Sets that time sorts are read however many jobs they have, and the count comes with the first read of them.
  const isByTime = plan.sets.every((set) => set.isByTime);
  const place = isByTime ? null : readPlace(after?.mark);
  const isIn = ({ queue, set, count }: Required<QueueSet>): boolean =>
    count > 0 && (place === null || (place.queue === queue.name && place.part === set.part));
  const present: readonly QueueSet[] = isByTime ? allSets(plan) : (await counting).filter(isIn);
  const unsorted = present.filter(({ set }) => !set.isByTime).length;
  const share = Math.floor(MOST_SORTED_IN_ALL / unsorted);
  const most = Math.max(LEAST_SORTED, Math.min(MOST_SORTED, share));
  const isAlone = present.length === 1 && after === null && large === 'newest';
  const isIndexed = large === 'all' || isAlone || place !== null;
  // Bounds of time drop rows of sets that time does not sort, and in a merged list not all rows come to be shown.
  const withTexts = plan.withTexts && present.length === 1 && since === null && until === null;
  const demand = { rows: 0, sets: present.length };
  const reading: Reading = { read, members, order, after, since, until, withTexts, demand };
  const rows = present.map((from) => {
    if (from.set.isByTime) return timedRows(reading, from);
    const isLarge = (from.count ?? 0) > most || place !== null;
    if (isLarge && isIndexed) return indexedRows(reading, from, place?.rank ?? null);
    return newestRows(reading, from, isLarge ? most : most + MARGIN, isLarge);
  });
  const isCut = !isIndexed && present.some(({ set, count = 0 }) => !set.isByTime && count > most);
  return walkOver(merge(rows, order), demand, counting, isCut);
}

function allSets({ queues, sets }: WalkPlan): readonly QueueSet[] {
  return queues.flatMap((queue) => sets.map((set) => ({ queue, set })));
}

/** Counts the jobs of each set, without those whose jobs are in none of the wanted states. */
async function countSets(read: ReadCommands, plan: WalkPlan): Promise<readonly Required<QueueSet>[]> {
  const all = allSets(plan);
  const { queues, sets, engineStates } = plan;
  const [replies, paused] = await Promise.all([
    read(
      all.map(({ queue, set: { part, kind } }) =>
        keyCommand(queue, kind === 'list' ? 'LLEN' : 'ZCARD', part),
      ),
    ),
    sets.some(({ part }) => part === 'wait') ? findPaused(read, queues) : new Set<QueueRef>(),
  ]);
  return all
    .map(({ queue, set }, index) => ({
      queue,
      set: setIn(set, paused.has(queue)),
      count: asCount(replies[index]),
    }))
    .filter(({ set }) => engineStates.length === 0 || engineStates.includes(set.engineState));
}

function merge(all: readonly AsyncGenerator<SetRow>[], order: 'asc' | 'desc'): AsyncIterator<SetRow, void> {
  const [only] = all;
  // Most walks have one set, and merging costs time for each row.
  if (only !== undefined && all.length === 1) return only;
  return mergeSortedAsync(all, (a, b) => comparePositions(a.position, b.position, order));
}

function walkOver(
  rows: AsyncIterator<SetRow, void>,
  demand: Reading['demand'],
  counting: Promise<readonly Required<QueueSet>[]>,
  isCut: boolean,
) {
  /** Ids of the tasks that were given: a job that moves may be in two sets. */
  const given = new Set<string>();
  /** The next row, if it has been read. */
  let ahead: SetRow | null = null;

  async function peek(): Promise<SetRow | null> {
    while (ahead === null) {
      const { value, done } = await rows.next();
      if (done || value === undefined) return null;
      if (!given.has(value.taskId)) ahead = value;
    }
    return ahead;
  }

  return {
    /** Whether jobs of large sets are left out. */
    isCut,
    /** How many jobs the sets of the plan had at the beginning. */
    count: async () => (await counting).reduce((sum, { count }) => sum + count, 0),
    /** The next rows, each job once; fewer than `count` only at the end. */
    async next(count: number): Promise<readonly SetRow[]> {
      // One more, for `hasMore`.
      demand.rows = count + 1;
      const taken: SetRow[] = [];
      while (taken.length < count) {
        const row = await peek();
        if (row === null) break;
        ahead = null;
        given.add(row.taskId);
        taken.push(row);
        demand.rows -= 1;
      }
      return taken;
    },
    /** Whether there is another row. */
    hasMore: async () => (await peek()) !== null,
  };
}

/** The longest read of ids. It takes Redis less than a millisecond. */
const MOST_AT_ONCE = 1_000;

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

/** Reads the jobs of members, for their times. A job that is gone is left out. */
async function readRows(
  { read }: Reading,
  from: QueueSet,
  members: readonly SetMember[],
  withTexts: boolean,
): Promise<readonly (SetRow | null)[]> {
  const { queue, set } = from;
  const jobs = members.map((member) => ({ queue, set, ...member }));
  const contents = await readContents({ read }, jobs, withTexts);
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
async function* newestRows(
  reading: Reading,
  from: QueueSet,
  most: number,
  isLarge: boolean,
): AsyncGenerator<SetRow, void, undefined> {
  const { order, after, demand, withTexts } = reading;
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
    const members = await reading.members(from, first, first + window - 1);
    ranks += window;
    // If a set is larger than the page, many of its jobs are not shown.
    const found = await readRows(reading, from, members, withTexts && members.length <= demand.rows);
    const rows = found.filter((row) => row !== null).sort(compare);
    middle = rows[rows.length >> 1] ?? middle;
    const behind = rows.filter(
      ({ position }) => last === null || comparePositions(position, last, order) > 0,
    );
    pool = [...pool, ...behind].sort(compare);
  }
}

const KIND = 'set';

/**
 * The place in a set at which a page ended: the rank of its last row.
 *
 * @returns `null` for the mark of another list; clients can send anything
 */
function readPlace(
  mark: string | undefined,
): { readonly queue: string; readonly part: string; readonly rank: number } | null {
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
 * @param start the rank at which the page before ended; `null`: at the beginning
 */
async function* indexedRows(
  reading: Reading,
  from: QueueSet,
  start: number | null,
): AsyncGenerator<SetRow, void, undefined> {
  const { queue, set, count = 0 } = from;
  const isDescending = reading.order === 'desc';
  // Workers take jobs from the old end, so in `asc` all jobs before one that is gone are gone, too.
  const begin = isDescending ? (start ?? 0) : count;
  let at = start === null ? begin : ((await nextRank(reading, from, start)) ?? begin);
  let window = 0;
  let beyond = 0;
  while (beyond < MOST_BEYOND) {
    window = indexWindow(window, reading.demand);
    const first: number = isDescending ? at : Math.max(0, at - window);
    const end: number = isDescending ? at + window : at;
    const members = first < end ? await reading.members(from, first, end - 1) : [];
    const rows = await readRows(reading, from, members, reading.withTexts);
    for (const index of isDescending ? rows.keys() : [...rows.keys()].reverse()) {
      const row = rows[index] ?? null;
      if (row === null) continue;
      const { key, id } = row.position;
      // Written only for the last row of a page.
      const position = {
        key,
        id,
        get mark() {
          return writeMark(KIND, [queue.name, set.part, first + index]);
        },
      };
      yield { ...row, position };
      // One priority says nothing about the others.
      beyond = isBeyond(row.position.key, reading) && set.part !== 'prioritized' ? beyond + 1 : 0;
    }
    if (isDescending ? members.length < window : first === 0) return;
    at = isDescending ? end : first;
  }
}

/** The rank behind the job at which the page before ended, wherever it is by now; `null`: it is gone. */
async function nextRank(
  { read, order, after }: Reading,
  { queue, set: { part, kind } }: QueueSet,
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
function indexWindow(previous: number, { rows, sets }: Reading['demand']): number {
  const share = previous === 0 ? Math.ceil(rows / (2 * sets)) : 2 * previous;
  const needed = sets === 1 ? rows : Math.min(share, rows);
  return Math.min(Math.max(needed, LEAST_AT_ONCE), MOST_AT_ONCE);
}

function isBeyond(time: TaskPosition['key'], { order, since, until }: Reading): boolean {
  if (typeof time !== 'number') return false;
  return order === 'desc' ? since !== null && time < since : until !== null && time >= until;
}

/** The first and the last moment that a `Date` can hold. */
const EARLIEST = -8.64e15;
const LATEST = 8.64e15;

/** Rows of a set whose scores are the times of the last change: completed, failed, waiting for children. */
async function* timedRows(reading: Reading, from: QueueSet): AsyncGenerator<SetRow, void, undefined> {
  const { order, after } = reading;
  // Rows without a time come last, and there are none in such a set.
  if (after !== null && after.key === null) return;
  let edge = typeof after?.key === 'number' ? after.key : order === 'asc' ? EARLIEST : LATEST;
  const isBehind = ({ position }: SetRow): boolean =>
    after === null || comparePositions(position, after, order) > 0;
  for (let window = 0; ; ) {
    window = timedWindow(window, reading.demand);
    const rows = await readFrom(reading, from, edge, window);
    const last = rows.length < window ? null : (rows.at(-1)?.position.key ?? null);
    // The rows of the last millisecond may continue beyond what was read.
    const known = rows.filter(({ position }) => position.key !== last);
    yield* known.filter(isBehind).sort((a, b) => comparePositions(a.position, b.position, order));
    if (typeof last !== 'number') return;
    edge = last;
    if (known.length > 0) continue;
    for await (const row of rowsOfMillisecond(reading, from, last)) if (isBehind(row)) yield row;
    edge += order === 'asc' ? 1 : -1;
  }
}

/** How many members to read. One command reads them all, so there are rather too many. */
function timedWindow(previous: number, { rows, sets }: Reading['demand']): number {
  // The last member is passed on only when the one behind it is known.
  const share = Math.min(Math.ceil((2 * rows) / sets), rows) + 1;
  return Math.min(Math.max(2 * previous, share, 2), MOST_AT_ONCE);
}

async function readFrom(
  { read, order, since, until }: Reading,
  from: QueueSet,
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
  { read }: Reading,
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
