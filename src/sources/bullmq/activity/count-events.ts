/** Counts the events in the stream of a queue, and since when they are complete. Times are milliseconds since 1970. */

import type { MinuteAggregate, Outcome } from '../../../history/aggregate/minute-aggregate.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
import { type QueueAccess, readFields } from '../access/queue-access.ts';
import { type JobRef, keyCommand, splitTaskId } from '../access/queue-reads.ts';
import type { FeedItem, ItemMemory } from '../events/feed-items.ts';
import { createFeedStream, itemsBehind, takeItem } from '../events/feed-stream.ts';
import { lastIdOf, type WatchedStream } from '../events/stream-ends.ts';
import type { StreamPosition } from '../events/stream-entry.ts';
import { shortText, timeOf } from '../jobs/job-facts.ts';
import { findConsequences } from '../jobs/job-loader.ts';
import { isOfChild } from '../jobs/job-row.ts';
import { createStalls, noteEvent, type Stalls } from './stalls.ts';

/** A day: earlier events are not counted. */
const COUNTED_MS = 24 * 60 * 60_000;

/** The end of a job may be dated this much before the event that reports it. */
const EDGE_MS = 2_000;

/** A time in which events were removed from the stream before they were read. Sets of ended jobs may fill it. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** Jobs that ended up to this time may have been counted by an event after the gap: then they are in `counted`. */
  readonly edge: number;
  readonly counted: Set<string>;
  /** How many jobs of each set have been read, from the newest on. */
  readonly read: { completed: number; failed: number };
  /** Everything that ended after it has been counted. */
  reached: number;
}

/** A job that ended, to see whether its queue keeps such jobs. */
export interface EndedJob {
  readonly jobId: string;
  readonly part: 'completed' | 'failed';
  readonly time: number;
}

/** The latest few jobs of a name that ended in the same set. */
export interface EndedJobs {
  readonly name: string | null;
  readonly jobs: readonly EndedJob[];
}

/** A job that has not ended. */
interface OpenJob {
  readonly name: string | null;
  /** When its run began; `null`: it has not, or before events were read. */
  readonly startedAt: number | null;
}

/** The state of a queue whose events are counted. */
export interface FollowedQueue {
  readonly watched: WatchedStream;
  /** After the last event that was counted. */
  position: StreamPosition;
  /** Everything between these two times has been counted, except for the gap. */
  since: number;
  until: number;
  /** `null`: nothing is left to be read from the sets. */
  gap: Gap | null;
  /** Data from events about jobs that have not ended, by task id. */
  readonly open: Map<string, OpenJob>;
  /** The latest few jobs of each name that ended, by set and name. */
  readonly samples: Map<string, EndedJobs>;
  readonly stalls: Stalls;
}

/** A queue of which nothing has been counted. */
export function followQueue(watched: WatchedStream, now: number): FollowedQueue {
  const since = now - COUNTED_MS;
  return {
    watched,
    position: { floor: since },
    since,
    until: since,
    gap: null,
    open: new Map(),
    samples: new Map(),
    stalls: createStalls(),
  };
}

/** Since when nothing is missing. */
export function countedSince({ since, gap }: FollowedQueue): number {
  return gap === null ? since : Math.max(since, gap.reached);
}

/**
 * Events up to this time are gone. The rest of an earlier gap is given up.
 *
 * @param isFollowed whether there are events after the gap
 */
function openGap(followed: FollowedQueue, to: number, isFollowed: boolean): void {
  followed.since = countedSince(followed);
  followed.gap = null;
  if (to <= followed.until) return;
  followed.gap = {
    from: followed.until,
    to,
    edge: isFollowed ? to + EDGE_MS : to,
    counted: new Set(),
    read: { completed: 0, failed: 0 },
    reached: to,
  };
  followed.until = to;
}

/** Gives up the unread part of a gap. */
function closeGap(followed: FollowedQueue): void {
  const { gap } = followed;
  if (gap === null) return;
  if (gap.reached > gap.from) followed.since = Math.max(followed.since, gap.reached);
  followed.gap = null;
}

/** Entries of a stream that are read at once. */
const BATCH = 500;
/** Open jobs of a queue that are remembered. */
const MOST_OPEN = 20_000;
/** Names of a queue of which ended jobs are remembered, and how many of each. */
const MOST_SAMPLED_NAMES = 100;
const MOST_SAMPLES = 3;

/** Bounds of one read. */
interface CountBudget {
  entries: number;
  /** In characters. */
  size: number;
  /** When to stop, by `performance.now()`. */
  readonly until: number;
}

/** The context of counting. */
export interface Counting {
  readonly memory: ItemMemory;
  readonly counts: MinuteAggregate;
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
  access: QueueAccess,
  counting: Counting,
  followed: FollowedQueue,
  budget: CountBudget,
): Promise<boolean> {
  const startedAt = Date.now();
  if (lastIdOf(followed.watched) === null) {
    // An empty stream shows nothing about the jobs in the sets. Without a stream, nothing has happened.
    if (await hasStream(access, followed)) openGap(followed, startedAt, false);
    followed.until = startedAt;
    return true;
  }
  const stream = createFeedStream(followed.watched, followed.position);
  let hasGap = false;
  try {
    for await (const next of itemsBehind({ access, memory: counting.memory }, stream, () => BATCH)) {
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

async function hasStream(access: QueueAccess, { watched: { queue } }: FollowedQueue): Promise<boolean> {
  const [reply] = await access.read([keyCommand(queue, 'EXISTS', 'events')]);
  return asCount(reply) > 0;
}

function countItem({ counts }: Counting, followed: FollowedQueue, { event, time }: FeedItem): void {
  followed.until = Math.max(followed.until, time);
  const taskId = event?.taskId ?? null;
  if (event == null || taskId === null) return;
  const job = followed.open.get(taskId);
  const name = event.task ?? job?.name ?? null;
  noteEvent(followed.stalls, event, name, job?.startedAt ?? null, time);
  const outcome = OUTCOMES.get(event.type);
  if (outcome === undefined) return;
  const isEnd = outcome === 'succeeded' || outcome === 'failed';
  if (!isEnd) remember(followed.open, taskId, { name, startedAt: outcome === 'started' ? time : null });
  else {
    followed.open.delete(taskId);
    noteEnd(followed, name, taskId, outcome === 'failed' ? 'failed' : 'completed', time);
    if (outcome === 'failed' && isOfChild(event.detail ?? undefined)) return;
  }
  const began = isEnd ? (job?.startedAt ?? Number.NaN) : Number.NaN;
  counts.count(outcome, name, time, time - began, Date.now(), {
    queue: followed.watched.queue.name,
    worker: null,
  });
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
  const { watched, gap } = followed;
  const { queue } = watched;
  if (gap === null) return;
  const oldest = await readOldest(access, followed);
  if (!(await keepsJobs(access, followed, oldest))) {
    closeGap(followed);
    return;
  }
  const lists = await access.read(
    PARTS.map((part) => {
      const limit = ['WITHSCORES', 'LIMIT', gap.read[part], most] as const;
      return keyCommand(queue, 'ZREVRANGEBYSCORE', part, gap.edge, gap.from, ...limit);
    }),
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

/** When the oldest job of each set ended. */
async function readOldest(
  access: QueueAccess,
  { watched: { queue } }: FollowedQueue,
): Promise<Readonly<Record<Part, number | null>>> {
  const [completed, failed] = await access.read(
    PARTS.map((part) => keyCommand(queue, 'ZRANGE', part, 0, 0, 'WITHSCORES')),
  );
  return { completed: asScored(completed)[0]?.score ?? null, failed: asScored(failed)[0]?.score ?? null };
}

/** Whether the jobs whose end was observed still exist, except for those that are older than a whole set. */
async function keepsJobs(
  access: QueueAccess,
  { watched: { queue }, samples }: FollowedQueue,
  oldest: Readonly<Record<Part, number | null>>,
): Promise<boolean> {
  const isTrimmed = ({ part, time }: EndedJob): boolean => oldest[part] !== null && time < oldest[part];
  const ended = [...samples.values()].flatMap(({ jobs }) => jobs).filter((job) => !isTrimmed(job));
  const replies = await access.read(ended.map(({ jobId }) => keyCommand(queue, 'EXISTS', jobId)));
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
