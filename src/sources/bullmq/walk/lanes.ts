/** Which lanes there are for the sets of some queues. */

import type { ReadOptions } from '../../../redis/reader.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
import { JOB_SETS, type JobSet } from '../job-sets.ts';
import type { QueueAccess } from '../queue-access.ts';
import type { QueueRef } from '../queue-ref.ts';
import type { Lane, LaneRange, Place } from './lane.ts';
import type { WalkMark } from './mark.ts';
import { smallLane } from './small-lane.ts';
import { streamLane } from './stream-lane.ts';
import { listStrip, PRIORITY_SPAN, type Strip, sortedStrip } from './strip.ts';
import { timeLane } from './time-lane.ts';

/** A set of a queue that holds jobs. */
export interface CountedSet {
  readonly queue: QueueRef;
  readonly set: JobSet;
  readonly count: number;
}

/** A lane that is to be walked. */
export interface OpenLane {
  /** Names it in marks. */
  readonly key: string;
  readonly lane: Lane;
  /** Whether time and id alone place its rows. */
  readonly isExact: boolean;
  /** Of the run in which a page before ended. */
  readonly last: Place | null;
}

/** Sets of up to so many jobs are sorted; where there are many of them, fewer each. */
const MOST_SORTED = 1_000;
const FEWEST_SORTED = 50;
const MOST_SORTED_IN_ALL = 3_000;
/** Priorities that get lanes of their own; all lower scores share one. */
const MOST_PRIORITIES = 16;

/** How many jobs each set has, in the order of {@link JOB_SETS}; sets without any are left out. */
export async function countSets(
  access: QueueAccess,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<readonly CountedSet[]> {
  const all = queues.flatMap((queue) => JOB_SETS.map((set) => ({ queue, set })));
  const replies = await access.read(
    all.map(({ queue, set: { part, kind } }) => ({
      queue,
      command: [kind === 'list' ? 'LLEN' : 'ZCARD', queue.key(part)] as const,
    })),
    options,
  );
  return all.flatMap((counted, index) => {
    const count = asCount(replies[index]);
    return count === 0 ? [] : [{ ...counted, count }];
  });
}

/**
 * @param range its `after` is for lanes that time and id place
 * @param place where to go on in lanes that the mark does not know
 */
export async function openLanes(
  access: QueueAccess,
  sets: readonly CountedSet[],
  range: LaneRange,
  mark: WalkMark | null,
  place: Place | null,
  options: ReadOptions,
): Promise<readonly OpenLane[]> {
  const unsorted = sets.filter(({ set }) => !set.isByTime).length;
  const mostSorted = Math.max(
    FEWEST_SORTED,
    Math.min(MOST_SORTED, Math.floor(MOST_SORTED_IN_ALL / unsorted)),
  );

  function stream(key: string, strip: Strip): readonly OpenLane[] {
    const start = mark?.lanes.get(key);
    if (start === null) return [];
    const from = start ?? { hold: null, last: place };
    // Rows without a time have no place of their own: those left come with the lanes that a mark knows.
    if (start === undefined && place !== null && place.key === null) return [];
    return [{ key, lane: streamLane(strip, range, from), isExact: false, last: from.last }];
  }

  async function lanesOf({ queue, set, count }: CountedSet): Promise<readonly OpenLane[]> {
    const key = `${queue.name}:${set.part}`;
    if (set.isByTime) return [{ key, lane: timeLane(queue, set, range), isExact: true, last: null }];
    const known = [...(mark?.lanes.keys() ?? [])].filter(
      (name) => name === key || name.startsWith(`${key}/`),
    );
    if (known.length === 0 && count <= mostSorted) {
      return [{ key, lane: smallLane(queue, set, range), isExact: true, last: null }];
    }
    if (set.kind === 'list') return stream(key, listStrip(queue, set, range.order));
    if (set.part !== 'prioritized') return stream(key, sortedStrip(queue, set, range.order));
    const { priorities, rest } = await prioritiesOf(access, queue, set, known, options);
    return [
      ...priorities.flatMap((priority) =>
        stream(
          `${key}/${priority}`,
          sortedStrip(queue, set, range.order, priority * PRIORITY_SPAN, (priority + 1) * PRIORITY_SPAN),
        ),
      ),
      ...(rest === null
        ? []
        : stream(
            `${key}/<${rest}`,
            sortedStrip(queue, set, range.order, Number.NEGATIVE_INFINITY, rest * PRIORITY_SPAN),
          )),
    ];
  }

  return (await Promise.all(sets.map(lanesOf))).flat();
}

/**
 * The priorities that jobs have, by skipping from one to the next.
 *
 * @param known lanes that a mark has: the border below which priorities share a lane stays
 */
async function prioritiesOf(
  access: QueueAccess,
  queue: QueueRef,
  set: JobSet,
  known: readonly string[],
  options: ReadOptions,
): Promise<{ readonly priorities: readonly number[]; readonly rest: number | null }> {
  const border = known.map((name) => /\/<(\d+)$/.exec(name)?.[1]).find((found) => found !== undefined);
  const lowest = border === undefined ? Number.NEGATIVE_INFINITY : Number(border);
  const most = border === undefined ? MOST_PRIORITIES : 2 * MOST_PRIORITIES;
  const priorities: number[] = [];
  for (let below = '+inf'; ; ) {
    const command = [
      'ZREVRANGEBYSCORE',
      queue.key(set.part),
      below,
      '-inf',
      'WITHSCORES',
      'LIMIT',
      '0',
      '1',
    ] as const;
    const [reply] = await access.read([{ queue, command }], options);
    const [found] = asScored(reply);
    if (found === undefined) break;
    const priority = Math.floor(found.score / PRIORITY_SPAN);
    if (priority < lowest) break;
    if (priorities.length >= most) return { priorities, rest: priorities.at(-1) ?? null };
    priorities.push(priority);
    below = `(${priority * PRIORITY_SPAN}`;
  }
  return { priorities, rest: border === undefined ? null : lowest };
}
