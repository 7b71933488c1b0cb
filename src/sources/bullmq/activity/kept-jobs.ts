/**
 * What queues keep of the jobs that ended: since when all of them, and their counts for a time whose events were removed
 * before they were read. Times are milliseconds since 1970.
 */
import type { MinuteAggregate } from '../../../history/aggregate/minute-aggregate.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
import { readFields } from '../access/hash-reads.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef } from '../access/queue-reads.ts';
import { readQueueFigures } from '../components/queues.ts';
import { shortText, timeOf } from '../jobs/job-hash.ts';
import { findConsequences } from '../jobs/job-loader.ts';
import { ENDED_PARTS, type EndedPart } from '../jobs/job-sets.ts';
import { type CountedQueue, closeGap, EDGE_MS, type EndedJob, type EndedJobs } from './count-events.ts';

/** What a queue keeps. */
type Kept = Awaited<ReturnType<typeof readKept>>[number];

/** Reads what queues keep. A user without the right to GET gets no number of added jobs. */
async function readKept(access: QueueAccess, queues: readonly QueueRef[]) {
  const read = await readPer(access, queues, (queue) => [
    { queue, command: ['GET', queue.key('id')], isOptional: true },
    ...ENDED_PARTS.map((part) => keyCommand(queue, 'ZRANGE', part, 0, 0, 'WITHSCORES')),
  ]);
  return [...read].map(([queue, [added, failed, completed]]) => {
    return {
      queue,
      /** Number of jobs that were added to it. */
      added: asCount(added),
      /** When the oldest job of each set ended; `null`: there is none. */
      oldest: {
        completed: asScored(completed)[0]?.score ?? null,
        failed: asScored(failed)[0]?.score ?? null,
      },
    };
  });
}

/**
 * BullMQ counts in `id` every job that it adds. Where it has fewer now, some were removed, usually the ones that
 * succeeded first. Failed jobs are often kept for longer and prove nothing about the others.
 *
 * If events report jobs that ended after the kept ones, and none of a name is left, jobs are removed when they end:
 * then nothing is known about any time. A single job may have been removed by hand.
 *
 * @param names of jobs that matter; none: all
 * @returns milliseconds since 1970 by the name of the queue; absent: no job was ever removed; `Infinity`: never known
 */
export type KeptSince = (
  access: QueueAccess,
  queues: readonly QueueRef[],
  names: readonly string[],
) => Promise<ReadonlyMap<string, number>>;

/** Jobs of a name that end with this many others of it, and are gone, were not removed by hand. */
const ENOUGH_ENDED = 2;

/** @param endedJobs the latest jobs of a queue that ended, by name and outcome, from the events that were read */
export function createKeptSince(endedJobs: (queue: QueueRef) => Iterable<EndedJobs>): KeptSince {
  /** Numbers of added jobs when a removed job was found. Jobs do not come back. */
  const removedAt = new Map<string, number>();

  async function hasRemoved(access: QueueAccess, all: readonly Kept[]): Promise<readonly Kept[]> {
    const unknown = all.filter(({ queue, added }) => (removedAt.get(queue.name) ?? Infinity) > added);
    const figures = await readQueueFigures(
      access,
      unknown.map(({ queue }) => queue),
    );
    for (const { queue, added } of unknown) {
      const kept = Object.values(figures.get(queue)?.counts ?? {}).reduce((sum, count) => sum + count, 0);
      // A user without the right to GET gets no number: as if nothing had been removed.
      if (added > kept) removedAt.set(queue.name, added);
      else removedAt.delete(queue.name);
    }
    return all.filter(({ queue }) => removedAt.has(queue.name));
  }

  return async (access, queues, names) => {
    // The number of added jobs is read first: a job added meanwhile must not look like a removed one.
    const all = await readKept(access, queues);
    const removing = await hasRemoved(access, all);
    const atOnce = await removedAtOnce(access, removing, endedJobs, names);
    return new Map(
      removing.map(({ queue, oldest }) => [
        queue.name,
        atOnce.has(queue) ? Number.POSITIVE_INFINITY : (oldest.completed ?? Number.POSITIVE_INFINITY),
      ]),
    );
  };
}

/** Queues of which jobs of a name are gone that ended after others which are kept. */
async function removedAtOnce(
  access: QueueAccess,
  kept: readonly Kept[],
  endedJobs: (queue: QueueRef) => Iterable<EndedJobs>,
  names: readonly string[],
): Promise<ReadonlySet<QueueRef>> {
  const groups = kept.flatMap(({ queue, oldest }) =>
    [...endedJobs(queue)].flatMap(({ name, jobs }) => {
      if (names.length > 0 && name !== null && !names.includes(name)) return [];
      const keys = jobs.filter(({ part, time }) => time > (oldest[part] ?? 0) + EDGE_MS);
      return keys.length < ENOUGH_ENDED ? [] : [{ queue, keys: keys.map(({ jobId }) => queue.key(jobId)) }];
    }),
  );
  const replies = await access.read(
    groups.map(({ queue, keys }) => ({ queue, command: ['EXISTS', ...keys] })),
  );
  return new Set(groups.flatMap(({ queue }, at) => (asCount(replies[at]) === 0 ? [queue] : [])));
}

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
  oldest: Kept['oldest'],
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
