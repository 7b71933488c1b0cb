/** Counts the events in the stream of a queue. */
import type { MinuteAggregate, Outcome } from '../../../history/aggregate/minute-aggregate.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { asCount } from '../../../redis/replies.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { splitTaskId } from '../access/queue-ref.ts';
import type { FeedItem } from '../events/feed-items.ts';
import { createFeedStream, itemsBehind, takeItem } from '../events/feed-stream.ts';
import type { FeedTails } from '../events/feed-tails.ts';
import type { StreamTail } from '../events/stream-tail.ts';
import { isOfChild } from '../jobs/failed-child.ts';
import { type FollowedQueue, type OpenJob, openGap } from './followed-queue.ts';

/** Entries of a stream that are read at once. */
const BATCH = 500;
/** Open jobs of a queue that are remembered. */
const MOST_OPEN = 20_000;
/** Names of a queue of which ended jobs are remembered, and how many of each. */
const MOST_SAMPLED_NAMES = 100;
const MOST_SAMPLES = 3;

/** Bounds of one read. */
export interface CountBudget {
  entries: number;
  /** In characters. */
  size: number;
  /** When to stop, by `performance.now()`. */
  readonly until: number;
}

/** The context of counting. */
export interface Counting {
  readonly access: QueueAccess;
  readonly tails: FeedTails;
  readonly counts: MinuteAggregate;
  readonly now: () => number;
}

/** Types of the feed that are counted. */
const OUTCOMES: ReadonlyMap<string, Outcome> = new Map<string, Outcome>([
  ['task-sent', 'sent'],
  ['task-started', 'started'],
  ['task-succeeded', 'succeeded'],
  ['task-failed', 'failed'],
  ['task-retried', 'retried'],
]);

/**
 * Counts the events since the last call.
 *
 * @param budget the rest after the call is free for other queues
 * @returns whether all of them were read
 */
export async function countEvents(
  counting: Counting,
  followed: FollowedQueue,
  tail: StreamTail,
  budget: CountBudget,
  options: ReadOptions,
): Promise<boolean> {
  const startedAt = counting.now();
  if (tail.items.length === 0) {
    // An empty stream shows nothing about the jobs in the sets. Without a stream, nothing has happened.
    if (await hasStream(counting, followed, options)) openGap(followed, startedAt, false);
    followed.until = startedAt;
    return true;
  }
  const stream = createFeedStream(tail, followed.position);
  let hasGap = false;
  try {
    for await (const next of itemsBehind(counting.tails, stream, () => BATCH, options)) {
      if (stream.hasGap && !hasGap) openGap(followed, next.item.time, true);
      hasGap = stream.hasGap;
      takeItem(next);
      countItem(counting, followed, next.item);
      budget.entries -= 1;
      budget.size -= next.item.sizeRead;
      if (budget.entries <= 0 || budget.size <= 0 || performance.now() > budget.until) return false;
    }
  } finally {
    followed.position = stream.position;
  }
  if (stream.hasGap && !hasGap) openGap(followed, startedAt, false);
  followed.until = Math.max(followed.until, startedAt);
  return true;
}

async function hasStream(
  { access }: Counting,
  { queue }: FollowedQueue,
  options: ReadOptions,
): Promise<boolean> {
  const [reply] = await access.read([{ queue, command: ['EXISTS', queue.key('events')] }], options);
  return asCount(reply) > 0;
}

function countItem({ counts, now }: Counting, followed: FollowedQueue, { event, time }: FeedItem): void {
  followed.until = Math.max(followed.until, time);
  const outcome = OUTCOMES.get(event?.type ?? '');
  const taskId = event?.taskId ?? null;
  if (event == null || outcome === undefined || taskId === null) return;
  const job = followed.open.get(taskId);
  const name = event.task ?? job?.name ?? null;
  const isEnd = outcome === 'succeeded' || outcome === 'failed';
  if (!isEnd) remember(followed.open, taskId, { name, startedAt: outcome === 'started' ? time : null });
  else {
    followed.open.delete(taskId);
    noteEnd(followed, name, taskId, outcome === 'failed' ? 'failed' : 'completed', time);
    if (outcome === 'failed' && isOfChild(event.detail ?? undefined)) return;
  }
  const began = isEnd ? (job?.startedAt ?? Number.NaN) : Number.NaN;
  counts.count(outcome, name, time, time - began, now(), { queue: followed.queue.name, worker: null });
}

function remember(open: Map<string, OpenJob>, taskId: string, job: OpenJob): void {
  // The oldest come first.
  open.delete(taskId);
  open.set(taskId, job);
  if (open.size <= MOST_OPEN) return;
  const oldest = open.keys().next().value;
  if (oldest !== undefined) open.delete(oldest);
}

function noteEnd(
  { samples, gap }: FollowedQueue,
  name: string | null,
  taskId: string,
  part: 'completed' | 'failed',
  time: number,
): void {
  const jobId = splitTaskId(taskId)?.jobId;
  if (jobId === undefined) return;
  if (gap !== null && time <= gap.edge) gap.counted.add(jobId);
  const key = `${part} ${name ?? ''}`;
  const known = samples.get(key);
  if (known === undefined && samples.size >= MOST_SAMPLED_NAMES) return;
  const jobs = [...(known?.jobs ?? []), { jobId, part, time }].slice(-MOST_SAMPLES);
  samples.set(key, { name, jobs });
}
