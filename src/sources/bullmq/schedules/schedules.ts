/** Lists job schedulers and repeatable jobs of all queues. */
import { debugChannel } from '../../../debug.ts';
import type { Schedule } from '../../../model.ts';
import { redactSchedule } from '../../../redact.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { asCount, asScored } from '../../../redis/replies.ts';
import type { ScheduleSource } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-ref.ts';
import { loadEntries } from './entry-loader.ts';
import { readLastRuns } from './last-runs.ts';
import type { EntryRef } from './schedule-entry.ts';
import { scheduleOf } from './schedule-row.ts';

/** Most entries to list. Reading them keeps Redis busy for a few milliseconds. */
export const MOST_ENTRIES = 5_000;

const debug = debugChannel('bullmq');

/**
 * Answers `/api/beat/schedules/`. Workers run the schedules, not a process of its own, so they are never "not
 * enabled": without entries the list is empty.
 */
export function createScheduleSource(name: string, access: QueueAccess): ScheduleSource {
  return {
    name,
    status: access.status,
    listSchedules: ({ signal }) => listSchedules(access, { signal }),
  };
}

/**
 * Lists up to 5,000 entries of all queues, by name; of queues with more, those that are due first. An entry that
 * is over is listed until it is removed from BullMQ.
 */
async function listSchedules(access: QueueAccess, options: ReadOptions): Promise<readonly Schedule[]> {
  const entries = await findEntries(access, await access.queues(options), options);
  const [known, runs] = await Promise.all([
    loadEntries(access, entries, options),
    readLastRuns(access, entries, options),
  ]);
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

async function findEntries(
  access: QueueAccess,
  queues: readonly QueueRef[],
  options: ReadOptions,
): Promise<readonly EntryRef[]> {
  const sizes = await access.readEach(
    queues,
    (queue) => [['ZCARD', queue.key('repeat')]],
    ([size]) => asCount(size),
    options,
  );
  const counts = [...sizes].map(([queue, count]) => ({ queue, count }));
  const shares = shareOut(counts.filter(({ count }) => count > 0));
  // One command for each queue: between two, an entry that runs would move.
  const replies = await access.read(
    shares.map(({ queue, count }) => ({
      queue,
      command: ['ZRANGE', queue.key('repeat'), '0', String(count - 1), 'WITHSCORES'] as const,
    })),
    options,
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
