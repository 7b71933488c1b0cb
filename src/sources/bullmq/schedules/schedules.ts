/** Lists job schedulers and repeatable jobs of all queues. */
import { debugChannel } from '../../../debug.ts';
import type { Schedule } from '../../../model.ts';
import { redactSchedule } from '../../../redact.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
import type { ScheduleSource } from '../../../source.ts';
import { everyText } from '../../../text.ts';
import { recordOf } from '../../../values.ts';
import type { BullMQRedis, QueueAccess } from '../access/queue-access.ts';
import { keyCommand, type QueueRef } from '../access/queue-reads.ts';
import { type JobValue, jsonIn } from '../jobs/job-values.ts';
import { readLastRuns } from './last-runs.ts';
import {
  type EntryFacts,
  type EntryRef,
  type KnownEntry,
  loadEntries,
  type NotedRun,
} from './schedule-entry.ts';

/** Most entries to list. Reading them keeps Redis busy for a few milliseconds. */
export const MOST_ENTRIES = 5_000;

const debug = debugChannel('bullmq');

/**
 * Answers `/api/beat/schedules/`. Workers run the schedules, not a process of its own, so they are never "not
 * enabled": without entries the list is empty.
 */
export function createScheduleSource(name: string, redis: BullMQRedis): ScheduleSource {
  return {
    name,
    status: redis.status,
    listSchedules: (context) => listSchedules(redis.within(context)),
  };
}

/**
 * Lists up to 5,000 entries of all queues, by name; of queues with more, those that are due first. An entry that
 * is over is listed until it is removed from BullMQ.
 */
async function listSchedules(access: QueueAccess): Promise<readonly Schedule[]> {
  const entries = await findEntries(access, await access.queues());
  const [known, runs] = await Promise.all([loadEntries(access, entries), readLastRuns(access, entries)]);
  const runsOf = new Map([...runs].map(([entry, own]) => [entry.queue.key(entry.key), own]));
  const now = Date.now();
  return known
    .map((entry) => {
      const row = scheduleOf(entry, now);
      const lastRuns = runsOf.get(entry.ref.queue.key(entry.ref.key)) ?? null;
      // The jobs of one that has run may have been removed.
      const isUnknown = lastRuns?.length === 0 && row.lastRunAt !== null;
      return redactSchedule({ ...row, lastRuns: isUnknown ? null : lastRuns }, access.redactor);
    })
    .sort((a, b) => compare(a.name, b.name) || compare(a.id, b.id));
}

async function findEntries(access: QueueAccess, queues: readonly QueueRef[]): Promise<readonly EntryRef[]> {
  const sizes = await access.readParts(queues, ['schedules']);
  const counts = [...sizes].map(([queue, { schedules }]) => ({ queue, count: asCount(schedules) }));
  const shares = shareOut(counts.filter(({ count }) => count > 0));
  // One command for each queue: between two, an entry that runs would move.
  const replies = await access.read(
    shares.map(({ queue, count }) => keyCommand(queue, 'ZRANGE', 'repeat', 0, count - 1, 'WITHSCORES')),
  );
  return shares.flatMap(({ queue }, index) =>
    asScored(replies[index]).map(({ member, score }) => ({ queue, key: member, due: score })),
  );
}

interface QueueShare {
  readonly queue: QueueRef;
  readonly count: number;
}

/** How many entries of each queue to list: all, or a fair share, so that no queue displaces another. */
function shareOut(counts: readonly QueueShare[]): readonly QueueShare[] {
  let left = MOST_ENTRIES;
  let queuesLeft = counts.length;
  const shares = counts
    .toSorted((a, b) => a.count - b.count)
    .map(({ queue, count }) => {
      const share = Math.min(count, Math.max(1, Math.floor(left / queuesLeft)));
      left -= share;
      queuesLeft -= 1;
      return { queue, count: share };
    });
  const cut = sum(counts) - sum(shares);
  if (cut > 0) debug('%d schedules are not listed: there are more than %d.', cut, MOST_ENTRIES);
  return shares;
}

function sum(shares: readonly QueueShare[]): number {
  return shares.reduce((total, { count }) => total + count, 0);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** The options of a run (bullmq, classes/job-scheduler). */
interface RunOptions {
  /** Its number, from 1 since the entry was last written by the app. */
  readonly count: number | null;
  readonly limit: number | null;
}

/** `null` when BullMQ has no valid date there. */
const LAST_TIME = 8.64e15;

/** @param now milliseconds since 1970 */
function scheduleOf({ ref, facts, template, run }: KnownEntry, now: number): Schedule {
  const { count, limit } = runOptions(run?.options);
  const begun = hasBegun(ref.due, run, now);
  const runs = facts.runs;
  const isOver =
    begun && (reached(count ?? runs, facts.limit ?? limit) || (facts.endsAt !== null && facts.endsAt < now));
  return {
    id: `${ref.queue.name}:${ref.key}`,
    app: null,
    name: facts.name,
    task: facts.jobName,
    schedule: scheduleText(facts),
    enabled: !isOver,
    args: (template ?? run?.data)?.text ?? null,
    kwargs: null,
    queue: ref.queue.name,
    timezone: facts.timezone,
    lastRunAt: dateOf(lastRun(facts, run, count)),
    nextRunAt: begun ? null : dateOf(ref.due),
    // A count smaller than the run's own number did not begin with the first run.
    totalRunCount: runs === null || (count ?? 0) > runs ? null : begun ? runs : runs - 1,
  };
}

/**
 * Whether the stored run is already over: a worker stores the next one when it begins this one, unless this one
 * was the last. A job that does not exist any more has run, and was not to be kept.
 */
function hasBegun(due: number, run: NotedRun | null, now: number): boolean {
  if (run === null) return false;
  return run.job === null ? due < now : run.job.processedAt !== null;
}

/**
 * The job of a run is made when the run before it begins, so that both moments are the same; the app makes the
 * first one. No run of a job scheduler has a number above the count, unless the app began with another number
 * than 1.
 */
function lastRun(
  { runs, isScheduler }: EntryFacts,
  run: NotedRun | null,
  count: number | null,
): number | null {
  const job = run?.job ?? null;
  if (job === null) return null;
  if (job.processedAt !== null) return job.processedAt;
  const follows = count !== null && count >= 2 && (!isScheduler || count <= (runs ?? 0));
  return follows ? job.addedAt : null;
}

function reached(count: number | null, limit: number | null): boolean {
  return count !== null && limit !== null && count >= limit;
}

/** `every 30 s`, or the pattern itself, followed by its bounds in brackets. */
function scheduleText({ every, pattern, startsAt, endsAt, limit }: EntryFacts): string | null {
  const rule = every === null ? pattern : everyText(every / 1_000);
  if (rule === null) return null;
  const bounds = [
    startsAt === null ? null : `from ${new Date(startsAt).toISOString()}`,
    endsAt === null ? null : `until ${new Date(endsAt).toISOString()}`,
    limit === null ? null : `at most ${limit} ${limit === 1 ? 'run' : 'runs'}`,
  ].filter((bound) => bound !== null);
  return bounds.length === 0 ? rule : `${rule} (${bounds.join(', ')})`;
}

function runOptions(options: JobValue | undefined): RunOptions {
  const given = recordOf(recordOf(jsonIn(options))?.repeat);
  return { count: numberOf(given?.count), limit: numberOf(given?.limit) };
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function dateOf(time: number | null): Date | null {
  return time === null || Math.abs(time) > LAST_TIME ? null : new Date(time);
}
