/**
 * Entries of a queue's `repeat` set, and BullMQ's data about each in `repeat:<key>`: job schedulers (bullmq,
 * includes/storeJobScheduler.lua) and the repeatable jobs before them (5.x, addRepeatableJob).
 */
import { asNumber } from '../../../redis/replies.ts';
import { readFields } from '../access/hash-reads.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef } from '../access/queue-reads.ts';
import {
  type JobFacts,
  type JobValue,
  ROW_BOUNDS,
  readFacts,
  readValues,
  shortText,
  timeOf,
} from '../jobs/job-hash.ts';

/** An entry of the set. */
export interface EntryRef {
  readonly queue: QueueRef;
  /** Id of the job scheduler, or key of the repeatable job. Unique within its queue. */
  readonly key: string;
  /** When the stored run is due, in milliseconds: its score. */
  readonly due: number;
}

/** BullMQ's data about an entry. Times in milliseconds since 1970. */
export interface EntryFacts {
  /** The name that people know: the id of a job scheduler, the job's name of a repeatable job. */
  readonly name: string;
  /** Name of its jobs. */
  readonly jobName: string | null;
  /** Cron pattern, or the value that the app's own strategy reads. */
  readonly pattern: string | null;
  /** Milliseconds from run to run. */
  readonly every: number | null;
  /** IANA zone of the pattern; `null`: the zone of the worker's machine. */
  readonly timezone: string | null;
  readonly startsAt: number | null;
  readonly endsAt: number | null;
  /** Limit of runs. */
  readonly limit: number | null;
  /** Runs for which jobs were made, including the stored one. BullMQ counts them for job schedulers only. */
  readonly runs: number | null;
  readonly isScheduler: boolean;
}

const FIELDS = ['name', 'pattern', 'every', 'tz', 'startDate', 'endDate', 'limit', 'ic'] as const;

/** The key that BullMQ gives a repeatable job if the app gives none: a hash, which means nothing to people. */
const DIGEST = /^[0-9a-f]{32,128}$/;

/** The hash of an entry as a job reference: keys of both are made in the same way. */
export function hashRef({ queue, key }: EntryRef): JobRef {
  return { queue, id: `repeat:${key}` };
}

/** @returns `null` for an entry that has been removed */
function entryOf(key: string, fields: readonly (string | null)[]): EntryFacts | null {
  const [name, pattern, every, tz, startDate, endDate, limit, ic] = fields;
  const jobName = shortText(name) || null;
  const facts = {
    jobName,
    pattern: shortText(pattern) || null,
    every: positive(every),
    timezone: shortText(tz) || null,
    startsAt: timeOf(startDate),
    endsAt: timeOf(endDate),
    limit: positive(limit),
  };
  if (jobName === null && facts.pattern === null && facts.every === null) return ofKey(key);
  const runs = positive(ic);
  // A worker of late 5.x counts runs of repeatable jobs, too, but begins with the second one.
  const isScheduler = runs !== null && !DIGEST.test(key);
  return {
    ...facts,
    name: DIGEST.test(key) ? (jobName ?? key) : key,
    runs: isScheduler ? runs : null,
    isScheduler,
  };
}

/** Reads a key of BullMQ 3 and older: `name:id:endDate:tz:pattern`, or `…:every` in milliseconds. */
function ofKey(key: string): EntryFacts | null {
  const [, jobName, endDate, timezone, rule] = /^([^:]*):[^:]*:(\d*):([^:]*):(.+)$/s.exec(key) ?? [];
  if (rule === undefined || !(/^\d+$/.test(rule) || rule.includes(' '))) return null;
  const every = /^\d+$/.test(rule) ? positive(rule) : null;
  return {
    name: jobName || key,
    jobName: jobName || null,
    pattern: every === null ? rule : null,
    every,
    timezone: timezone || null,
    startsAt: null,
    endsAt: timeOf(endDate || null),
    limit: null,
    runs: null,
    isScheduler: false,
  };
}

/**
 * The job of the stored run; `null` when its id is unknown: the id of a repeatable job whose key has colons is a hash
 * of data that is not available here.
 */
function runRef({ queue, key, due }: EntryRef, { isScheduler }: EntryFacts): JobRef | null {
  const isKnown = isScheduler || key.split(':').length <= 2;
  return isKnown ? { queue, id: `repeat:${key}:${due}` } : null;
}

function positive(value: string | null | undefined): number | null {
  const number = asNumber(value);
  return number === null || number <= 0 ? null : number;
}

/** The run that is stored as the next one. It may have begun: BullMQ stores the one after it only then. */
export interface NotedRun {
  /** `null` when the job does not exist any more. */
  readonly job: JobFacts | null;
  readonly data: JobValue | undefined;
  /** The job's options, as JSON. */
  readonly options: JobValue | undefined;
}

/** An entry with its data. */
export interface KnownEntry {
  readonly ref: EntryRef;
  readonly facts: EntryFacts;
  /** Data for its jobs. */
  readonly template: JobValue | undefined;
  /** `null` when its job is unknown. */
  readonly run: NotedRun | null;
}

/** Loads entries, in their order. Those that have been removed since are left out. */
export async function loadEntries(
  access: QueueAccess,
  entries: readonly EntryRef[],
): Promise<readonly KnownEntry[]> {
  const known = await loadOnce(access, entries);
  // If a run has begun since the entry was found, the next one is stored by now.
  const begun = known.filter(({ run }) => run !== null && run.job?.processedAt !== null);
  const scores = await access.read(
    begun.map(({ ref: { queue, key } }) => keyCommand(queue, 'ZSCORE', 'repeat', key)),
  );
  const moved = begun.flatMap(({ ref }, index) => {
    const due = asNumber(scores[index]);
    return due === null || due === ref.due ? [] : [{ ...ref, due }];
  });
  if (moved.length === 0) return known;
  const again = new Map(
    (await loadOnce(access, moved)).map((entry) => [entry.ref.queue.key(entry.ref.key), entry]),
  );
  return known.map((entry) => again.get(entry.ref.queue.key(entry.ref.key)) ?? entry);
}

async function loadOnce(access: QueueAccess, entries: readonly EntryRef[]): Promise<readonly KnownEntry[]> {
  const hashes = await readFields(access, entries.map(hashRef), FIELDS);
  const found = entries.flatMap((ref, index) => {
    const facts = entryOf(ref.key, hashes[index] ?? []);
    return facts === null ? [] : [{ ref, facts, job: runRef(ref, facts) }];
  });
  const [templates, runs] = await Promise.all([
    readValues(
      access,
      found.map(({ ref }) => ({ job: hashRef(ref), fields: ['data'] })),
      ROW_BOUNDS,
    ),
    loadRuns(
      access,
      found.flatMap(({ job }) => job ?? []),
    ),
  ]);
  return found.map(({ ref, facts, job }, index) => ({
    ref,
    facts,
    template: templates[index]?.data,
    run: job === null ? null : (runs.get(job) ?? null),
  }));
}

async function loadRuns(
  access: QueueAccess,
  jobs: readonly JobRef[],
): Promise<ReadonlyMap<JobRef, NotedRun>> {
  const [facts, values] = await Promise.all([
    readFacts(access, jobs),
    readValues(
      access,
      jobs.map((job) => ({ job, fields: ['data', 'opts'] })),
      ROW_BOUNDS,
    ),
  ]);
  return new Map(
    jobs.map((job, index) => [
      job,
      { job: facts[index] ?? null, data: values[index]?.data, options: values[index]?.opts },
    ]),
  );
}
