/**
 * Lanes: the sets of queues as rows in one order. A lane is a generator, so that the commands of all lanes
 * go to Redis together: it yields either commands, and is given their replies, or the rows that come next.
 */

import type { Scored } from '../../../redis/replies.ts';
import { factsCommand, factsOf, type JobFacts, lastChange, type SetEntry } from '../job-facts.ts';
import type { JobSet } from '../job-sets.ts';
import type { QueueCommand } from '../queue-access.ts';
import { type QueueRef, taskIdOf } from '../queue-ref.ts';

/** A job in its place. */
export interface LaneRow extends SetEntry {
  readonly taskId: string;
  /** Time of the last change in milliseconds; `null` when it is not known. */
  readonly key: number | null;
  /** Where a lane has read them. */
  readonly facts: JobFacts | null;
}

/** A place in the list: of a row, or where one was. */
export interface Place {
  readonly key: number | null;
  readonly id: string;
}

/** Which rows a lane is to give, and from where. Times in milliseconds. */
export interface LaneRange {
  readonly order: 'asc' | 'desc';
  /** Rows behind this place. */
  readonly after: Place | null;
  /** Inclusive. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** How many rows to read first; later reads are larger. */
  readonly window: number;
}

/** Where rows stand in a list that time does not place. */
export interface Foothold {
  /** Index of the first of them in the order of the walk, and how many jobs there were. */
  readonly index: number;
  readonly size: number;
  /** Jobs right before them, the nearest first. */
  readonly before: readonly string[];
}

/** What a lane yields. */
export type LaneStep =
  | { readonly ask: readonly QueueCommand[] }
  | {
      readonly rows: readonly LaneRow[];
      /** Of a lane that is found again by neighbours: where these rows stand. */
      readonly at?: () => Foothold;
      /** The same for what comes behind them. */
      readonly behind?: () => Foothold;
    };

export type Lane = Generator<LaneStep, void, readonly unknown[]>;

/** The longest read of ids, which takes Redis less than a millisecond. */
export const MOST_AT_ONCE = 1_000;

/** Reads the small fields of jobs. Those that are gone are left out. */
export function* readRows(
  queue: QueueRef,
  set: JobSet,
  found: readonly { readonly id: string; readonly score: number | null }[],
): Generator<LaneStep, readonly LaneRow[], readonly unknown[]> {
  if (found.length === 0) return [];
  const replies = yield { ask: found.map(({ id }) => factsCommand(queue, id)) };
  return found.flatMap(({ id, score }, index) => {
    const facts = factsOf(replies[index]);
    if (facts === null) return [];
    const key = lastChange(set, score, facts);
    return [{ queue, id, set, score, taskId: taskIdOf(queue.name, id), key, facts }];
  });
}

/** The row of a member of a set whose score is the time. */
export function timedRow(queue: QueueRef, set: JobSet, { member, score }: Scored): LaneRow {
  const taskId = taskIdOf(queue.name, member);
  return { queue, id: member, set, score, taskId, key: Math.floor(score), facts: null };
}
