/**
 * Chooses how each set of the queues is read: by time if Redis keeps it sorted by time, sorted here if it has few jobs,
 * in its own order otherwise.
 */
import { asCount, asScored, asTexts } from '../../../redis/replies.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { QueueRef, ReadCommands } from '../access/queue-reads.ts';
import { lastChange, readFacts, readSmallJobs } from '../jobs/job-facts.ts';
import { findPaused, isMarker, type JobSet, readPriorities, setIn } from '../jobs/job-sets.ts';
import {
  type JobSequence,
  MOST_AT_ONCE,
  type RowPosition,
  rowOf,
  type SequenceRange,
  type SequenceRow,
  type WalkProgress,
} from './job-sequence.ts';
import { type IndexedSet, indexedList, indexedSortedSet, ownOrderRows } from './own-order-rows.ts';
import { timedRows } from './timed-rows.ts';

/** A set of a queue. */
export interface QueueSet {
  readonly queue: QueueRef;
  readonly set: JobSet;
}

/** A set, and how many jobs it has. */
export interface CountedSet extends QueueSet {
  readonly count: number;
}

/** Sets of up to this many jobs are sorted here; fewer each if there are many sets. */
const MOST_SORTED = 1_000;
const LEAST_SORTED = 50;
const MOST_SORTED_IN_ALL = 3_000;
/** Priorities that are listed by time among each other. A set with more is listed by priority. */
const MOST_PRIORITIES = 16;
/** Number of priorities that a walk keeps separate once it has begun to. */
const MOST_KNOWN_PRIORITIES = 64;

/** These sets of all queues. */
export function allSets(queues: readonly QueueRef[], sets: readonly JobSet[]): readonly QueueSet[] {
  return queues.flatMap((queue) => sets.map((set) => ({ queue, set })));
}

/**
 * Counts the jobs of each of these sets of the queues, without those whose jobs are in none of the wanted states.
 *
 * @param engineStates in BullMQ's words; empty: all
 */
export async function countSets(
  read: ReadCommands,
  queues: readonly QueueRef[],
  sets: readonly JobSet[],
  engineStates: readonly string[],
): Promise<readonly CountedSet[]> {
  const all = allSets(queues, sets);
  const [replies, paused] = await Promise.all([
    read(
      all.map(({ queue, set: { part, kind } }) => ({
        queue,
        command: [kind === 'list' ? 'LLEN' : 'ZCARD', queue.key(part)] as const,
      })),
    ),
    sets.some(({ part }) => part === 'wait') ? findPaused(read, queues) : NONE,
  ]);
  return all
    .map(({ queue, set }, index) => {
      return { queue, set: setIn(set, paused.has(queue)), count: asCount(replies[index]) };
    })
    .filter(({ set }) => engineStates.length === 0 || engineStates.includes(set.engineState));
}

const NONE: ReadonlySet<QueueRef> = new Set();

/**
 * @param sets that may hold jobs; those that time does not sort have been counted
 * @param range its `after` is for sets that time and id sort
 * @param starts where the page before left sequences that are listed in their own order
 * @param skipTo where other such sequences continue
 */
export async function openSequences(
  read: ReadCommands,
  sets: readonly (QueueSet & Partial<CountedSet>)[],
  range: SequenceRange,
  starts: WalkProgress['sets'],
  skipTo: RowPosition | null,
): Promise<readonly JobSequence[]> {
  const unsorted = sets.filter(({ set }) => !set.isByTime).length;
  const share = Math.floor(MOST_SORTED_IN_ALL / unsorted);
  const mostSorted = Math.max(LEAST_SORTED, Math.min(MOST_SORTED, share));
  const opened = sets.map(async (counted): Promise<readonly JobSequence[]> => {
    const { queue, set, count = 0 } = counted;
    if (set.isByTime) return [{ own: null, rows: timedRows(read, queue, set, range) }];
    const known = knownNames(counted, [...starts.keys()]);
    // A set that the page before listed in its own order stays so, however few jobs are left.
    if (known.length === 0 && count <= mostSorted) {
      return [{ own: null, rows: sortedRows(read, queue, set, range) }];
    }
    const parts = await partsOf(read, counted, range.order, known);
    return parts.flatMap(({ name, members }) => {
      const start = starts.get(name) ?? null;
      const skip = starts.has(name) ? null : skipTo;
      // All rows that have a time come before a position without one.
      if (skip !== null && skip.key === null) return [];
      const rows = ownOrderRows(read, { queue, set, name, members, start, skipTo: skip }, range);
      return [{ own: { name, start }, rows }];
    });
  });
  return (await Promise.all(opened)).flat();
}

/** The name of a set's sequence. One of a single priority has `/` and the priority behind it. */
function nameOf({ queue, set }: QueueSet): string {
  return `${queue.name}:${set.part}`;
}

/** Names of the sequences that the page before made of a set. */
function knownNames(counted: QueueSet, names: readonly string[]): readonly string[] {
  const name = nameOf(counted);
  return names.filter((known) => known === name || known.startsWith(`${name}/`));
}

/** A set as one part, or as one for each priority. */
async function partsOf(
  read: ReadCommands,
  counted: QueueSet,
  order: 'asc' | 'desc',
  known: readonly string[],
): Promise<readonly { readonly name: string; readonly members: IndexedSet }[]> {
  const { queue, set } = counted;
  const name = nameOf(counted);
  if (set.kind === 'list') return [{ name, members: indexedList(read, queue, set, order) }];
  const whole = [{ name, members: indexedSortedSet(read, queue, set, order) }];
  if (set.part !== 'prioritized' || known.includes(name)) return whole;
  const isSplit = known.length > 0;
  const most = isSplit ? MOST_KNOWN_PRIORITIES : MOST_PRIORITIES;
  const priorities = (await readPriorities(read, [queue], most)).get(queue) ?? [];
  if (!isSplit && priorities.length > most) return whole;
  return priorities.map((priority) => ({
    name: `${name}/${priority}`,
    members: indexedSortedSet(read, queue, set, order, priority),
  }));
}

/** How far a set is read that has grown since its jobs were counted. */
const MARGIN = 200;

/**
 * Rows of a set of few jobs, whatever order Redis keeps them in: all of them are read and sorted. Pages
 * continue by time and id alone.
 */
async function* sortedRows(
  read: ReadCommands,
  queue: QueueRef,
  set: JobSet,
  { order, after, demand, withTexts }: SequenceRange,
): AsyncGenerator<SequenceRow, void, undefined> {
  const members = await readMembers(read, queue, set);
  // If a set is larger than the page, many of its jobs are not shown.
  const readAll = withTexts && members.length <= demand.rows ? readSmallJobs : readFacts;
  const contents = await readAll(
    read,
    members.map((member) => ({ queue, set, ...member })),
  );
  const rows = members.flatMap((member, index) => {
    const content = contents[index] ?? null;
    if (content === null) return [];
    return [rowOf(queue, set, member, lastChange(set, member.score, content.facts), content)];
  });
  yield* rows
    .filter(({ position }) => after === null || comparePositions(position, after, order) > 0)
    .sort((a, b) => comparePositions(a.position, b.position, order));
}

async function readMembers(
  read: ReadCommands,
  queue: QueueRef,
  { part, kind }: JobSet,
): Promise<readonly { readonly id: string; readonly score: number | null }[]> {
  const last = String(MOST_AT_ONCE + MARGIN - 1);
  const key = queue.key(part);
  if (kind === 'list') {
    const [reply] = await read([{ queue, command: ['LRANGE', key, '0', last] }]);
    return [...new Set(asTexts(reply))].filter((id) => !isMarker(id)).map((id) => ({ id, score: null }));
  }
  const [reply] = await read([{ queue, command: ['ZRANGE', key, '0', last, 'WITHSCORES'] }]);
  return asScored(reply).map(({ member, score }) => ({ id: member, score }));
}
