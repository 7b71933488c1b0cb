/** Counts the jobs in the sets of a queue, for a time whose events were removed before they were read. */
import type { MinuteAggregate } from '../../../history/aggregate/minute-aggregate.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
import { type QueueAccess, readFields } from '../access/queue-access.ts';
import { type JobRef, keyCommand } from '../access/queue-reads.ts';
import { shortText, timeOf } from '../jobs/job-facts.ts';
import { findConsequences } from '../jobs/job-loader.ts';
import { type CountedQueue, closeGap, ENDED_PARTS, type EndedJob, type EndedPart } from './count-events.ts';
import { readKept } from './kept-since.ts';

/** The rules compare with this time before now at most; for the run times of a day, a few jobs are enough. */
const NEEDED_MS = 80 * 60_000;
const ENOUGH_JOBS = 5_000;
/** More jobs of one gap are not read. */
const MOST_JOBS = 100_000;

/**
 * Reads a part of a queue's gap, newest jobs first.
 *
 * @param most jobs of each set
 */
export async function countEnded(
  access: QueueAccess,
  counts: MinuteAggregate,
  counted: CountedQueue,
  most: number,
): Promise<void> {
  const { queue, gap } = counted;
  if (gap === null) return;
  const [kept] = await readKept(access, [queue]);
  const oldest = kept?.oldest ?? { completed: null, failed: null };
  if (!(await keepsJobs(access, counted, oldest))) {
    closeGap(counted);
    return;
  }
  const lists = await access.read(
    ENDED_PARTS.map((part) => {
      const limit = ['WITHSCORES', 'LIMIT', gap.read[part], most] as const;
      return keyCommand(queue, 'ZREVRANGEBYSCORE', part, gap.edge, gap.from, ...limit);
    }),
  );
  let reached = gap.from;
  let isRead = true;
  for (const [index, part] of ENDED_PARTS.entries()) {
    const found = asScored(lists[index]).map(({ member, score }) => ({ queue, id: member, time: score }));
    const uncounted = found.filter(({ id }) => !gap.counted.has(id));
    await countJobs(access, counts, part, uncounted);
    gap.read[part] += found.length;
    // The next part of the list may have jobs of the same moment.
    if (found.length >= most) {
      isRead = false;
      reached = Math.max(reached, (found.at(-1)?.time ?? gap.to) + 1);
    } else if (part === 'completed') reached = Math.max(reached, oldest.completed ?? gap.to);
  }
  gap.reached = Math.min(gap.to, reached);
  const read = gap.read.completed + gap.read.failed;
  const isEnough = Date.now() - reached > NEEDED_MS && read >= ENOUGH_JOBS;
  if (isRead || isEnough || read >= MOST_JOBS) closeGap(counted);
}

/** Whether the jobs whose end was observed still exist, except for those that are older than a whole set. */
async function keepsJobs(
  access: QueueAccess,
  { queue, samples }: CountedQueue,
  oldest: Readonly<Record<EndedPart, number | null>>,
): Promise<boolean> {
  const isTrimmed = ({ part, time }: EndedJob): boolean => oldest[part] !== null && time < oldest[part];
  const ended = [...samples.values()].flatMap(({ jobs }) => jobs).filter((job) => !isTrimmed(job));
  const replies = await access.read(ended.map(({ jobId }) => keyCommand(queue, 'EXISTS', jobId)));
  return replies.every((reply) => asCount(reply) > 0);
}

async function countJobs(
  access: QueueAccess,
  counts: MinuteAggregate,
  part: EndedPart,
  jobs: readonly (JobRef & { readonly time: number })[],
): Promise<void> {
  const replies = await readFields(access, jobs, ['name', 'processedOn']);
  const consequences = part === 'failed' ? await findConsequences(access, jobs) : null;
  for (const [index, job] of jobs.entries()) {
    if (consequences?.has(job)) continue;
    const [name, processedOn] = replies[index] ?? [];
    const began = timeOf(processedOn);
    const ran = began === null ? Number.NaN : job.time - began;
    counts.count(part === 'failed' ? 'failed' : 'succeeded', shortText(name), job.time, ran, Date.now());
  }
}
