/** Chooses how each set of the queues is read. */

import { asCount } from '../../../redis/replies.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import type { JobSet } from '../jobs/job-sets.ts';
import { readPriorities } from '../jobs/priorities.ts';
import type { ReadCommands } from './batched-reads.ts';
import { type IndexedSet, indexedList, indexedSortedSet } from './indexed-set.ts';
import type { JobSequence, RowPosition, SequenceRange, SetPosition } from './job-sequence.ts';
import { ownOrderRows } from './own-order-rows.ts';
import { sortedRows } from './sorted-rows.ts';
import { timedRows } from './timed-rows.ts';

/** A set of a queue that holds jobs. */
export interface CountedSet {
  readonly queue: QueueRef;
  readonly set: JobSet;
  readonly count: number;
}

/** Sets of up to this many jobs are sorted here; fewer each where there are many sets. */
const MOST_SORTED = 1_000;
const LEAST_SORTED = 50;
const MOST_SORTED_IN_ALL = 3_000;
/** Priorities that are listed by time among each other. A set with more is listed by priority. */
const MOST_PRIORITIES = 16;
/** Priorities that a walk keeps apart once it has begun to. */
const MOST_KNOWN_PRIORITIES = 64;

/** Counts the jobs of each of these sets of the queues. Empty ones are left out. */
export async function countSets(
  read: ReadCommands,
  queues: readonly QueueRef[],
  sets: readonly JobSet[],
): Promise<readonly CountedSet[]> {
  const all = queues.flatMap((queue) => sets.map((set) => ({ queue, set })));
  const replies = await read(
    all.map(({ queue, set: { part, kind } }) => ({
      queue,
      command: [kind === 'list' ? 'LLEN' : 'ZCARD', queue.key(part)] as const,
    })),
  );
  return all.flatMap((counted, index) => {
    const count = asCount(replies[index]);
    return count === 0 ? [] : [{ ...counted, count }];
  });
}

/**
 * @param range its `after` is for sets that time and id sort
 * @param starts where the page before left sets that are listed in their own order
 * @param skipTo where other such sets continue
 */
export async function openSequences(
  read: ReadCommands,
  sets: readonly CountedSet[],
  range: SequenceRange,
  starts: ReadonlyMap<string, SetPosition | null>,
  skipTo: RowPosition | null,
): Promise<readonly JobSequence[]> {
  const unsorted = sets.filter(({ set }) => !set.isByTime).length;
  const share = Math.floor(MOST_SORTED_IN_ALL / unsorted);
  const mostSorted = Math.max(LEAST_SORTED, Math.min(MOST_SORTED, share));
  const names = [...starts.keys()];
  const opened = sets.map(async (counted): Promise<readonly JobSequence[]> => {
    const { queue, set, count } = counted;
    if (set.isByTime) return [{ name: null, start: null, rows: timedRows(read, queue, set, range) }];
    const name = nameOf(counted);
    // A set that the page before listed in its own order stays so, however few jobs are left.
    const isKnown = names.some((known) => known === name || known.startsWith(`${name}/`));
    if (!isKnown && count <= mostSorted) {
      return [{ name: null, start: null, rows: sortedRows(read, queue, set, range) }];
    }
    const indexed = await indexedSets(read, counted, range.order, names);
    return indexed.flatMap((part) => {
      const start = starts.get(part.name) ?? null;
      const skip = starts.has(part.name) ? null : skipTo;
      // All rows that have a time come before a position without one.
      if (skip !== null && skip.key === null) return [];
      return [
        {
          name: part.name,
          start,
          rows: ownOrderRows(read, { queue, set, ...part, start, skipTo: skip }, range),
        },
      ];
    });
  });
  return (await Promise.all(opened)).flat();
}

function nameOf({ queue, set }: CountedSet): string {
  return `${queue.name}:${set.part}`;
}

/** A set as one sequence, or as one for each priority. */
async function indexedSets(
  read: ReadCommands,
  counted: CountedSet,
  order: 'asc' | 'desc',
  known: readonly string[],
): Promise<readonly { readonly name: string; readonly members: IndexedSet }[]> {
  const { queue, set } = counted;
  const name = nameOf(counted);
  if (set.kind === 'list') return [{ name, members: indexedList(read, queue, set, order) }];
  const whole = [{ name, members: indexedSortedSet(read, queue, set, order) }];
  if (set.part !== 'prioritized' || known.includes(name)) return whole;
  const isSplit = known.some((other) => other.startsWith(`${name}/`));
  const most = isSplit ? MOST_KNOWN_PRIORITIES : MOST_PRIORITIES;
  const priorities = await readPriorities(read, queue, most);
  if (!isSplit && priorities.length > most) return whole;
  return priorities.map((priority) => ({
    name: `${name}/${priority}`,
    members: indexedSortedSet(read, queue, set, order, priority),
  }));
}
