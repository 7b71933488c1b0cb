/** Lists job schedulers and repeatable jobs of all queues, with the jobs of those that have run. */
import { debugChannel } from '../../../debug.ts';
import type { Schedule, ScheduleRun, TaskState } from '../../../model.ts';
import { redactSchedule } from '../../../redact.ts';
import { asCount, asScored, asTexts } from '../../../redis/replies.ts';
import { everyText } from '../../../text.ts';
import { addTo, recordOf } from '../../../values.ts';
import { readFields } from '../access/hash-reads.ts';
import { type QueueAccess, readPer } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { dateOf, type JobValue, jsonIn, timeOf } from '../jobs/job-hash.ts';
import {
  type EntryFacts,
  type EntryRef,
  hashRef,
  type KnownEntry,
  loadEntries,
  type NotedRun,
} from './schedule-entry.ts';

/** Most entries to list. Reading them keeps Redis busy for a few milliseconds. */
export const MOST_ENTRIES = 5_000;

const debug = debugChannel('bullmq');

/**
 * Answers `/api/beat/schedules/`: up to 5,000 entries of all queues, by name; of queues with more, those that are due
 * first. An entry that is over is listed until it is removed from BullMQ. Workers run the schedules, not a process of its
 * own, so they are never "not enabled": without entries the list is empty.
 */
export async function listSchedules(access: QueueAccess): Promise<readonly Schedule[]> {
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

/** How many entries of each queue to list: all, or a fair share, so that no queue displaces another. */
function shareOut<Counted extends { readonly count: number }>(
  counts: readonly Counted[],
): readonly Counted[] {
  let left = MOST_ENTRIES;
  let queuesLeft = counts.length;
  let cut = 0;
  const shares = counts
    .toSorted((a, b) => a.count - b.count)
    .map((own) => {
      const share = Math.min(own.count, Math.max(1, Math.floor(left / queuesLeft)));
      left -= share;
      queuesLeft -= 1;
      cut += own.count - share;
      return { ...own, count: share };
    });
  if (cut > 0) debug('%d schedules are not listed: there are more than %d.', cut, MOST_ENTRIES);
  return shares;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

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

/** The options of a run (bullmq, classes/job-scheduler): its number, from 1 since the app last wrote the entry. */
function runOptions(options: JobValue | undefined): Readonly<Record<'count' | 'limit', number | null>> {
  const given = recordOf(recordOf(jsonIn(options))?.repeat);
  return { count: numberOf(given?.count), limit: numberOf(given?.limit) };
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Most jobs of each set of a queue whose ids are looked at. */
const MOST_IDS = 1_000;
/** Most runs of one entry. */
const MOST_RUNS = 20;
/** Most runs that are read for one answer, over all entries. */
const MOST_READ = 4_000;

/** The sets of jobs that have begun, and what they mean. */
const SETS: readonly (readonly [part: string, state: TaskState])[] = [
  ['active', 'STARTED'],
  ['completed', 'SUCCESS'],
  ['failed', 'FAILURE'],
];

/** A job that is a run. */
interface FoundRun extends JobRef {
  readonly state: TaskState;
  /** When it was due, in milliseconds since 1970. */
  readonly due: number;
}

/**
 * Finds the runs of entries, newest first, among the newest jobs of their queues: the ids are
 * `repeat:<entry>:<when it was due>`. Jobs that BullMQ has removed are not found. An entry without a list may have runs
 * that were not looked at.
 */
async function readLastRuns(
  access: QueueAccess,
  entries: readonly EntryRef[],
): Promise<ReadonlyMap<EntryRef, readonly ScheduleRun[]>> {
  const queues = [...new Set(entries.map(({ queue }) => queue))];
  const newest = await readPer(access, queues, (queue) =>
    SETS.map(([part]) =>
      keyCommand(queue, part === 'active' ? 'LRANGE' : 'ZREVRANGE', part, 0, MOST_IDS - 1),
    ),
  );
  const found = new Map<string, FoundRun[]>();
  const whole = new Set<QueueRef>();
  for (const [queue, replies] of newest) {
    const lists = replies.map(asTexts);
    if (lists.every((ids) => ids.length < MOST_IDS)) whole.add(queue);
    for (const [at, ids] of lists.entries()) noteRuns(found, queue, ids, SETS[at]?.[1] as TaskState);
  }
  const most = Math.max(1, Math.min(MOST_RUNS, Math.floor(MOST_READ / Math.max(1, entries.length))));
  const runs = entries.map((entry) => {
    const own = found.get(entry.queue.key(hashRef(entry).id)) ?? [];
    return own.sort((a, b) => b.due - a.due).slice(0, most);
  });
  const shown = await showRuns(access, runs.flat());
  return new Map(
    entries.flatMap((entry, index) => {
      const own = runs[index] ?? [];
      if (own.length === 0 && !whole.has(entry.queue)) return [];
      return [[entry, own.flatMap((run) => shown.get(run) ?? [])] as const];
    }),
  );
}

/** By the key of their entry. */
function noteRuns(
  found: Map<string, FoundRun[]>,
  queue: QueueRef,
  ids: readonly string[],
  state: TaskState,
): void {
  for (const id of ids) {
    const colon = id.lastIndexOf(':');
    const due = Number(id.slice(colon + 1));
    if (!id.startsWith('repeat:') || !Number.isSafeInteger(due)) continue;
    addTo(found, queue.key(id.slice(0, colon)), { queue, id, state, due });
  }
}

async function showRuns(
  access: QueueAccess,
  runs: readonly FoundRun[],
): Promise<ReadonlyMap<FoundRun, ScheduleRun>> {
  const replies = await readFields(access, runs, ['processedOn', 'finishedOn']);
  return new Map(
    runs.map((run, index) => {
      const { queue, id, state, due } = run;
      const [started = null, finished = null] = (replies[index] ?? []).map(timeOf);
      const runtime = started === null || finished === null ? null : Math.max(0, finished - started) / 1_000;
      return [run, { taskId: taskIdOf(queue.name, id), state, at: new Date(started ?? due), runtime }];
    }),
  );
}
