/**
 * Counts the jobs that ended while events were removed from the stream: those that the queue still has in its sets of
 * completed and failed jobs. BullMQ drops the oldest of a set first, unless a job is removed as it ends.
 */
import { asCount, asScored } from '../../../redis/replies.ts';
import { type QueueAccess, readFields } from '../access/queue-access.ts';
import type { JobRef } from '../access/queue-reads.ts';
import { shortText, timeOf } from '../jobs/job-facts.ts';
import { findConsequences } from '../jobs/job-loader.ts';
import { type Counting, closeGap, type EndedJob, type FollowedQueue, type Gap } from './count-events.ts';

/** The rules compare with this time before now at most; for the run times of a day, a few jobs are enough. */
const NEEDED_MS = 80 * 60_000;
const ENOUGH_JOBS = 5_000;
/** More jobs of one gap are not read. */
const MOST_JOBS = 100_000;

const PARTS = ['completed', 'failed'] as const;
type Part = (typeof PARTS)[number];

/**
 * Reads a part of a queue's gap, newest jobs first.
 *
 * @param most jobs of each set
 */
export async function countEnded(
  access: QueueAccess,
  counting: Counting,
  followed: FollowedQueue,
  most: number,
): Promise<void> {
  const { queue, gap } = followed;
  if (gap === null) return;
  const oldest = await readOldest(access, followed);
  if (!(await keepsJobs(access, followed, oldest))) {
    closeGap(followed);
    return;
  }
  const lists = await access.read(
    PARTS.map((part) => ({ queue, command: rangeCommand(queue.key(part), gap, part, most) })),
  );
  let reached = gap.from;
  let isRead = true;
  for (const [index, part] of PARTS.entries()) {
    const found = asScored(lists[index]).map(({ member, score }) => ({ queue, id: member, time: score }));
    const uncounted = found.filter(({ id }) => !gap.counted.has(id));
    await countJobs(access, counting, part, uncounted);
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
  if (isRead || isEnough || read >= MOST_JOBS) closeGap(followed);
}

function rangeCommand(key: string, { from, edge, read }: Gap, part: Part, most: number): readonly string[] {
  const [max, min] = [String(edge), String(from)];
  return ['ZREVRANGEBYSCORE', key, max, min, 'WITHSCORES', 'LIMIT', String(read[part]), String(most)];
}

/** When the oldest job of each set ended. */
async function readOldest(
  access: QueueAccess,
  { queue }: FollowedQueue,
): Promise<Readonly<Record<Part, number | null>>> {
  const [completed, failed] = await access.read(
    PARTS.map((part) => ({ queue, command: ['ZRANGE', queue.key(part), '0', '0', 'WITHSCORES'] })),
  );
  return { completed: asScored(completed)[0]?.score ?? null, failed: asScored(failed)[0]?.score ?? null };
}

/** Whether the jobs whose end was observed still exist, except for those that are older than a whole set. */
async function keepsJobs(
  access: QueueAccess,
  { queue, samples }: FollowedQueue,
  oldest: Readonly<Record<Part, number | null>>,
): Promise<boolean> {
  const isTrimmed = ({ part, time }: EndedJob): boolean => oldest[part] !== null && time < oldest[part];
  const ended = [...samples.values()].flatMap(({ jobs }) => jobs).filter((job) => !isTrimmed(job));
  const replies = await access.read(
    ended.map(({ jobId }) => ({ queue, command: ['EXISTS', queue.key(jobId)] })),
  );
  return replies.every((reply) => asCount(reply) > 0);
}

async function countJobs(
  access: QueueAccess,
  { counts }: Counting,
  part: Part,
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
