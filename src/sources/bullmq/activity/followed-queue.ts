/** The counts of one queue, and since when they are complete. Times are milliseconds since 1970. */
import type { QueueRef } from '../access/queue-ref.ts';
import type { StreamPosition } from '../events/stream-reads.ts';

/** A day: earlier events are not counted. */
const COUNTED_MS = 24 * 60 * 60_000;

/** The end of a job may be dated this much before the event that reports it. */
const EDGE_MS = 2_000;

/** A time in which events were removed from the stream before they were read. Sets of ended jobs may fill it. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** Jobs that ended up to this time may have been counted by an event after the gap: then they are in `counted`. */
  readonly edge: number;
  readonly counted: Set<string>;
  /** How many jobs of each set have been read, from the newest on. */
  readonly read: { completed: number; failed: number };
  /** Everything that ended after it has been counted. */
  reached: number;
}

/** A job that ended, to see whether its queue keeps such jobs. */
export interface EndedJob {
  readonly jobId: string;
  readonly part: 'completed' | 'failed';
  readonly time: number;
}

/** The latest few jobs of a name that ended in the same set. */
export interface EndedJobs {
  readonly name: string | null;
  readonly jobs: readonly EndedJob[];
}

/** A job that has not ended. */
export interface OpenJob {
  readonly name: string | null;
  /** When its run began; `null`: it has not, or before events were read. */
  readonly startedAt: number | null;
}

/** The state of a queue whose events are counted. */
export interface FollowedQueue {
  readonly queue: QueueRef;
  /** After the last event that was counted. */
  position: StreamPosition;
  /** Everything between these two times has been counted, except for the gap. */
  since: number;
  until: number;
  /** `null`: nothing is left to be read from the sets. */
  gap: Gap | null;
  /** Data from events about jobs that have not ended, by task id. */
  readonly open: Map<string, OpenJob>;
  /** The latest few jobs of each name that ended, by set and name. */
  readonly samples: Map<string, EndedJobs>;
}

/** A queue of which nothing has been counted. */
export function followQueue(queue: QueueRef, now: number): FollowedQueue {
  const since = now - COUNTED_MS;
  return {
    queue,
    position: { floor: since },
    since,
    until: since,
    gap: null,
    open: new Map(),
    samples: new Map(),
  };
}

/** Since when nothing is missing. */
export function countedSince({ since, gap }: FollowedQueue): number {
  return gap === null ? since : Math.max(since, gap.reached);
}

/**
 * Events up to this time are gone. The rest of an earlier gap is given up.
 *
 * @param isFollowed whether there are events after the gap
 */
export function openGap(followed: FollowedQueue, to: number, isFollowed: boolean): void {
  followed.since = countedSince(followed);
  followed.gap = null;
  if (to <= followed.until) return;
  followed.gap = {
    from: followed.until,
    to,
    edge: isFollowed ? to + EDGE_MS : to,
    counted: new Set(),
    read: { completed: 0, failed: 0 },
    reached: to,
  };
  followed.until = to;
}

/** Gives up the unread part of a gap. */
export function closeGap(followed: FollowedQueue): void {
  const { gap } = followed;
  if (gap === null) return;
  if (gap.reached > gap.from) followed.since = Math.max(followed.since, gap.reached);
  followed.gap = null;
}
