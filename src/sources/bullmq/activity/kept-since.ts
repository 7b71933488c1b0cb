/** Since when queues have kept all jobs that ended. Times are milliseconds since 1970. */
import { asCount, asScored } from '../../../redis/replies.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { keyCommand, type QueueRef } from '../access/queue-reads.ts';
import { readQueueFigures } from '../components/queue-figures.ts';
import { ENDED_PARTS, type EndedJobs, type EndedPart } from './count-events.ts';

/** What a queue keeps. */
interface Kept {
  readonly queue: QueueRef;
  /** Number of jobs that were added to it. */
  readonly added: number;
  /** When the oldest job of each set ended; `null`: there is none. */
  readonly oldest: Readonly<Record<EndedPart, number | null>>;
}

/** Reads what queues keep. A user without the right to GET gets no number of added jobs. */
export async function readKept(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly Kept[]> {
  const read = await readPer(access, queues, (queue) => [
    { queue, command: ['GET', queue.key('id')], isOptional: true },
    ...ENDED_PARTS.map((part) => keyCommand(queue, 'ZRANGE', part, 0, 0, 'WITHSCORES')),
  ]);
  return [...read].map(([queue, [added, completed, failed]]) => {
    const oldest = {
      completed: asScored(completed)[0]?.score ?? null,
      failed: asScored(failed)[0]?.score ?? null,
    };
    return { queue, added: asCount(added), oldest };
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
/** The end of a job may be dated this much before the event that reports it. */
const LATE_MS = 2_000;

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
      const keys = jobs.filter(({ part, time }) => time > (oldest[part] ?? 0) + LATE_MS);
      return keys.length < ENOUGH_ENDED ? [] : [{ queue, keys: keys.map(({ jobId }) => queue.key(jobId)) }];
    }),
  );
  const replies = await access.read(
    groups.map(({ queue, keys }) => ({ queue, command: ['EXISTS', ...keys] })),
  );
  return new Set(groups.flatMap(({ queue }, at) => (asCount(replies[at]) === 0 ? [queue] : [])));
}
