/** How many jobs wait in each queue, and since when the one has waited that has been due for longest. */

import type { HistoryWriter } from '../../../history/history.ts';
import { asCount, asScored, asTexts } from '../../../redis/replies.ts';
import { isTime, recordOf } from '../../../values.ts';
import { type QueueAccess, readPer, serversOf } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef } from '../access/queue-reads.ts';
import { factsCommand, factsOf, type JobFacts } from '../jobs/job-facts.ts';
import { dueTime, isMarker } from '../jobs/job-sets.ts';
import { type JobValue, jsonIn, readValues } from '../jobs/job-values.ts';
import { readTakeable } from './queue-figures.ts';

/** Number of priorities that are examined, from those that run last. */
const MOST_PRIORITIES = 16;
/** Options of a job are short; longer ones are not read. In bytes. */
const OPTION_BOUNDS = { keep: 65_536, largest: 65_536, budget: 4_194_304 };

/**
 * Reads, for each queue, when the oldest of the jobs that a worker could take now, or that are delayed and overdue,
 * fell due. A retried job has waited since its last run began.
 *
 * @param now in milliseconds since 1970
 * @returns milliseconds since 1970, by queue; queues without such a job are left out
 */
export async function readOldestDue(
  access: QueueAccess,
  queues: readonly QueueRef[],
  now: number,
): Promise<ReadonlyMap<QueueRef, number>> {
  const oldest = new Map<QueueRef, number>();
  const add = (queue: QueueRef, time: number): void => {
    oldest.set(queue, Math.min(time, oldest.get(queue) ?? Number.POSITIVE_INFINITY));
  };
  const [heads, delayed] = await Promise.all([readHeads(access, queues), readNextDelayed(access, queues)]);
  for (const { queue, due } of delayed) if (due <= now) add(queue, due);
  const [facts, values] = await Promise.all([
    access.read(heads.map(({ queue, id }) => factsCommand(queue, id))),
    readValues(
      access,
      heads.map((job) => ({ job, fields: ['opts'] })),
      OPTION_BOUNDS,
    ),
  ]);
  for (const [index, { queue }] of heads.entries()) {
    const known = factsOf(facts[index]);
    const time = known === null ? null : waitingSince(known, values[index]?.opts);
    if (time !== null) add(queue, Math.min(time, now));
  }
  return oldest;
}

/** The next three delayed jobs of each queue, and when they fall due, in milliseconds since 1970. */
export async function readNextDelayed(
  access: QueueAccess,
  queues: readonly QueueRef[],
): Promise<readonly (JobRef & { readonly due: number })[]> {
  const next = await access.readParts(queues, ['nextDelayed']);
  return [...next].flatMap(([queue, { nextDelayed }]) =>
    asScored(nextDelayed).map(({ member, score }) => ({ queue, id: member, due: dueTime(score) })),
  );
}

/** The next job of each waiting list and of each priority. */
async function readHeads(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly JobRef[]> {
  const parts = await access.readParts(queues, ['nextWaiting', 'nextPaused', 'prioritized']);
  const prioritized = queues.filter((queue) => asCount(parts.get(queue)?.prioritized) > 0);
  const heads = [...parts].flatMap(([queue, { nextWaiting, nextPaused }]) => [
    ...nextOf(queue, nextWaiting),
    ...nextOf(queue, nextPaused),
  ]);
  return [...heads, ...(await readFirst(access, prioritized))];
}

/** Scores of jobs of one priority span this much: bullmq, includes/getPriorityScore.lua. */
const PRIORITY_SPAN = 0x1_0000_0000;

/** The next job of each priority. The priorities are found by skipping from one to the next, those that run last first. */
async function readFirst(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly JobRef[]> {
  const starts = new Map(queues.map((queue) => [queue, [] as number[]]));
  for (let left = queues; left.length > 0; ) {
    const next = await access.read(
      left.map((queue) => {
        const last = starts.get(queue)?.at(-1);
        const below = last === undefined ? '+inf' : `(${last}`;
        const limit = ['WITHSCORES', 'LIMIT', 0, 1] as const;
        return keyCommand(queue, 'ZREVRANGEBYSCORE', 'prioritized', below, '-inf', ...limit);
      }),
    );
    left = left.filter((queue, index) => {
      const [score, known] = [asScored(next[index])[0]?.score, starts.get(queue)];
      if (score === undefined || known === undefined) return false;
      return known.push(Math.floor(score / PRIORITY_SPAN) * PRIORITY_SPAN) < MOST_PRIORITIES;
    });
  }
  const first = await readPer(access, queues, (queue) =>
    (starts.get(queue) ?? []).map((start) =>
      keyCommand(queue, 'ZRANGEBYSCORE', 'prioritized', start, '+inf', 'LIMIT', 0, 1),
    ),
  );
  return [...first].flatMap(([queue, replies]) => replies.flatMap((reply) => nextOf(queue, reply)));
}

/** The job that runs next. The last entry of a list may be a mark of an older BullMQ instead of a job. */
function nextOf(queue: QueueRef, reply: unknown): readonly JobRef[] {
  const id = asTexts(reply).findLast((member) => !isMarker(member));
  return id === undefined ? [] : [{ queue, id }];
}

/** BullMQ keeps no time at which a delayed job joined the others, so its delay is taken from its options. */
function waitingSince({ addedAt, processedAt }: JobFacts, opts: JobValue | undefined): number | null {
  if (processedAt !== null) return processedAt;
  return addedAt === null ? null : addedAt + delayIn(opts);
}

function delayIn(opts: JobValue | undefined): number {
  const delay = recordOf(jsonIn(opts))?.delay;
  return isTime(delay) ? Math.max(0, delay) : 0;
}

/** Between two readings, in milliseconds. */
const INTERVAL_MS = 10_000;
/** A thousand queues are read in no less than this many milliseconds each. */
const PER_QUEUE_MS = 20;

/** How long to wait between two readings of this many queues, in milliseconds. */
export function depthsInterval(queues: number): number {
  return Math.max(INTERVAL_MS, queues * PER_QUEUE_MS);
}

/**
 * Reads how many jobs wait: five commands for each queue, and about six more for each in which some do. Queues of an
 * unreachable server are left out.
 */
export async function recordDepths(
  access: QueueAccess,
  writer: Pick<HistoryWriter, 'recordQueue'>,
  queues: readonly QueueRef[],
): Promise<void> {
  const servers = serversOf(access, queues).map(async (server) => {
    const waiting = await readTakeable(access, server.queues);
    const busy = server.queues.filter((queue) => (waiting.get(queue) ?? 0) > 0);
    const oldest = await readOldestDue(access, busy, Date.now());
    for (const [queue, count] of waiting) writer.recordQueue(queue.name, count, oldest.get(queue) ?? null);
  });
  await Promise.allSettled(servers);
}
