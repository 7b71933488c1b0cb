/** What the jobs of one set look like to a walk: rows in one order, read as far as they are needed. */

import { type QueueRef, taskIdOf } from '../access/queue-ref.ts';
import type { JobContent } from '../jobs/job-content.ts';
import type { SetEntry } from '../jobs/job-facts.ts';
import type { JobSet } from '../jobs/job-sets.ts';

/** Where a row stands in the list: its time in milliseconds, `null` when it has none, and its task id. */
export interface RowPosition {
  readonly key: number | null;
  readonly id: string;
}

/** Where the next job stands in a set that is listed in its own order. */
export interface SetPosition {
  /** Its index, as it was when the page was read. */
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
  /** In a set that is listed in its own order: the set's name in cursors, and where it continues behind this row. */
  readonly next: { readonly set: string; readonly position: SetPosition } | null;
}

/** The rows of one set, or of one priority. */
export interface JobSequence {
  /** Its name in cursors; `null` when time and id of the last row are all that a cursor needs. */
  readonly name: string | null;
  /** Where it starts; `null`: at its beginning. */
  readonly start: SetPosition | null;
  readonly rows: AsyncIterable<SequenceRow>;
}

/** Which rows a sequence should give. Times in milliseconds. */
export interface SequenceRange {
  readonly order: 'asc' | 'desc';
  /** Only rows behind this position. */
  readonly after: RowPosition | null;
  /** Inclusive. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** What the walk needs when a sequence reads. */
  readonly demand: Demand;
  /** Whether to read the texts of small jobs along: most rows will be shown. */
  readonly withTexts: boolean;
}

/** How many rows a walk needs. It changes while the walk is read. */
export interface Demand {
  /** Rows that are still missing, one to look ahead included. */
  rows: number;
  /** Over how many sequences they are distributed. */
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
  return { queue, set, ...member, taskId, position: { key, id: taskId }, content, next: null };
}
