/** Entries as `/api/beat/schedules/` shows them. */
import type { Schedule } from '../../../model.ts';
import { everyText } from '../../../text/every-text.ts';
import type { JobValue } from '../jobs/job-values.ts';
import type { KnownEntry, NotedRun } from './entry-loader.ts';
import type { EntryFacts } from './schedule-entry.ts';

/** The options of a run (bullmq, classes/job-scheduler). */
interface RunOptions {
  /** Its number, from 1 since the entry was last written by the app. */
  readonly count: number | null;
  readonly limit: number | null;
}

/** `null` when BullMQ has no valid date there. */
const LAST_TIME = 8.64e15;

/** @param now milliseconds since 1970 */
export function scheduleOf({ ref, facts, template, run }: KnownEntry, now: number): Schedule {
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
  try {
    const { repeat } = JSON.parse(options?.text ?? '{}') as { readonly repeat?: Partial<RunOptions> };
    return { count: numberOf(repeat?.count), limit: numberOf(repeat?.limit) };
  } catch {
    // The text was cut, or another program wrote it.
    return { count: null, limit: null };
  }
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function dateOf(time: number | null): Date | null {
  return time === null || Math.abs(time) > LAST_TIME ? null : new Date(time);
}
