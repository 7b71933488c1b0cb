/** A sequence: the jobs of one set as rows in the order of the list, read only as far as they are needed. */

import { type QueueRef, taskIdOf } from '../access/queue-ref.ts';
import type { JobContent } from '../jobs/job-content.ts';
import type { SetEntry } from '../jobs/job-facts.ts';
import type { JobSet } from '../jobs/job-sets.ts';

/** The position of a row in the list: its time in milliseconds, `null` when it has none, and its task id. */
export interface RowPosition {
  readonly key: number | null;
  readonly id: string;
}

/** The position of the next job in a set that is listed in its own order. */
export interface SetPosition {
  /** Its index when the page was read. */
  readonly index: number;
  /** Ids of the jobs right before it, the nearest last. They find the position again after jobs have come and gone. */
  readonly before: readonly string[];
}

/** A job at its position in the list. */
export interface SequenceRow extends SetEntry {
  readonly taskId: string;
  readonly position: RowPosition;
  /** What the sequence has read of the job; `null` when it needed nothing. */
  readonly content: JobContent | null;
  /** In a set that is listed in its own order: the sequence's name, and its position behind this row. */
  readonly next: { readonly name: string; readonly position: SetPosition } | null;
}

/** The rows of one set, or of one priority of a set. */
export interface JobSequence {
  /**
   * In a set that is listed in its own order: the sequence's name in cursors, and where it starts (`null`: at its
   * beginning). `null` for other sets, of which time and id of the last row are all that a cursor needs.
   */
  readonly own: { readonly name: string; readonly start: SetPosition | null } | null;
  readonly rows: AsyncIterable<SequenceRow>;
}

/** Which rows the sequences of a walk give, and how many the walk needs. Times in milliseconds. */
export interface SequenceRange {
  readonly order: 'asc' | 'desc';
  /** Only rows behind this position. Sets that are listed in their own order have positions of their own. */
  readonly after: RowPosition | null;
  /** Inclusive. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** Whether to read the texts of small jobs, too, because most rows will be shown. */
  readonly withTexts: boolean;
  readonly demand: Demand;
}

/** How much a walk needs. It changes while the walk is read. */
export interface Demand {
  /** Rows that are missing, one to look ahead included. */
  rows: number;
  /** How many sequences they come from. */
  sequences: number;
}

/** The longest read of ids. It takes Redis less than a millisecond. */
export const MOST_AT_ONCE = 1_000;

/** @param key time of the row in milliseconds; `null` when it has none */
export function rowOf(
  queue: QueueRef,
  set: JobSet,
  member: { readonly id: string; readonly score: number | null },
  key: number | null,
  content: JobContent | null,
): SequenceRow {
  const taskId = taskIdOf(queue.name, member.id);
  return {
    queue,
    set,
    id: member.id,
    score: member.score,
    taskId,
    position: { key, id: taskId },
    content,
    next: null,
  };
}
