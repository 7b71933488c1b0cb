/** Since when the job of a queue that has been due for longest has waited. */
import type { ReadOptions } from '../../../redis/reader.ts';
import { asCount, asScored, asTexts } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueCommand } from '../access/queue-reads.ts';
import type { JobRef, QueueRef } from '../access/queue-ref.ts';
import { factsCommand, factsOf, type JobFacts } from '../jobs/job-facts.ts';
import { dueTime, isMarker } from '../jobs/job-sets.ts';
import { type JobValue, readValues } from '../jobs/job-values.ts';
import { PRIORITY_SPAN, readPriorities } from '../jobs/priorities.ts';
import { NEXT_TWO } from './queue-figures.ts';

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
 * @throws RedisError when Redis is unreachable, late, or refuses one of the commands
 */
export async function readOldestDue(
  access: QueueAccess,
  queues: readonly QueueRef[],
  now: number,
  options: ReadOptions,
): Promise<ReadonlyMap<QueueRef, number>> {
  const oldest = new Map<QueueRef, number>();
  const add = (queue: QueueRef, time: number): void => {
    oldest.set(queue, Math.min(time, oldest.get(queue) ?? Number.POSITIVE_INFINITY));
  };
  const [heads, delayed] = await Promise.all([
    readHeads(access, queues, options),
    readNextDelayed(access, queues, options),
  ]);
  for (const { queue, due } of delayed) if (due <= now) add(queue, due);
  const [facts, values] = await Promise.all([
    access.read(
      heads.map(({ queue, id }) => factsCommand(queue, id)),
      options,
    ),
    readValues(
      access,
      heads.map((job) => ({ job, fields: ['opts'] })),
      OPTION_BOUNDS,
      options,
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
  options: ReadOptions,
): Promise<readonly (JobRef & { readonly due: number })[]> {
  const replies = await access.readShared(
    queues.map((queue) => ({ queue, command: ['ZRANGE', queue.key('delayed'), '0', '2', 'WITHSCORES'] })),
    options,
  );
  return queues.flatMap((queue, index) =>
    asScored(replies[index]).map(({ member, score }) => ({ queue, id: member, due: dueTime(score) })),
  );
}

/** The next job of each waiting list and of each priority. */
async function readHeads(
  access: QueueAccess,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<readonly JobRef[]> {
  // The last entry of a list may be a mark of an older BullMQ instead of a job.
  const lists = queues.flatMap((queue) =>
    (['wait', 'paused'] as const).map(
      (part): QueueCommand => ({ queue, command: ['LRANGE', queue.key(part), ...NEXT_TWO] }),
    ),
  );
  const sizes = queues.map(
    (queue): QueueCommand => ({ queue, command: ['ZCARD', queue.key('prioritized')] }),
  );
  const replies = await access.readShared([...lists, ...sizes], options);
  const prioritized = queues.filter((_, index) => asCount(replies[lists.length + index]) > 0);
  const heads = (await Promise.all(prioritized.map((queue) => headsCommands(access, queue, options)))).flat();
  const next = [...replies.slice(0, lists.length), ...(await access.readShared(heads, options))];
  return [...lists, ...heads].flatMap(({ queue }, index) => {
    const id = asTexts(next[index]).findLast((member) => !isMarker(member));
    return id === undefined ? [] : [{ queue, id }];
  });
}

/** The commands that read the next job of each priority. */
async function headsCommands(
  access: QueueAccess,
  queue: QueueRef,
  options: ReadOptions,
): Promise<readonly QueueCommand[]> {
  const found = await readPriorities((list) => access.readShared(list, options), queue, MOST_PRIORITIES - 1);
  return found.map((priority) => {
    const from = String(priority * PRIORITY_SPAN);
    return { queue, command: ['ZRANGEBYSCORE', queue.key('prioritized'), from, '+inf', 'LIMIT', '0', '1'] };
  });
}

/** BullMQ keeps no time at which a delayed job joined the others, so its delay is taken from its options. */
function waitingSince({ addedAt, processedAt }: JobFacts, opts: JobValue | undefined): number | null {
  if (processedAt !== null) return processedAt;
  return addedAt === null ? null : addedAt + delayIn(opts);
}

function delayIn(opts: JobValue | undefined): number {
  try {
    const { delay }: { readonly delay?: unknown } = JSON.parse(opts?.text ?? '{}') ?? {};
    return typeof delay === 'number' && delay > 0 && delay <= 8.64e15 ? delay : 0;
  } catch {
    return 0;
  }
}
