import { asScored, asTexts } from '../../../redis/replies.ts';
import { comparePositions } from '../../../select/task-order.ts';
import type { ReadCommands } from '../access/queue-reads.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { readFacts, readSmallJobs } from '../jobs/job-content.ts';
import { lastChange } from '../jobs/job-facts.ts';
import { isMarker, type JobSet } from '../jobs/job-sets.ts';
import { MOST_AT_ONCE, rowOf, type SequenceRange, type SequenceRow } from './job-sequence.ts';

/** How far a set is read that has grown since its jobs were counted. */
const MARGIN = 200;

/**
 * Rows of a set of few jobs, whatever order Redis keeps them in: all of them are read and sorted. Pages
 * continue by time and id alone.
 */
export async function* sortedRows(
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
