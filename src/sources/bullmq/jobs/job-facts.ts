/** A job's hash: the small fields, or a small job whole (bullmq, includes/storeJob.lua and classes/job). */
import { asFields, asNumber } from '../../../redis/replies.ts';
import {
  type JobRef,
  keyCommand,
  type QueueCommand,
  type QueueRef,
  type ReadCommands,
} from '../access/queue-reads.ts';
import { dueTime, type JobSet } from './job-sets.ts';
import {
  ALWAYS_READ,
  batchesOf,
  type JobValues,
  ROW_BOUNDS,
  sizeCommand,
  sizeOf,
  type ValueField,
  valuesOf,
} from './job-values.ts';

/** A job in one of its queue's sets. */
export interface SetEntry extends JobRef {
  readonly set: JobSet;
  /** `null` in a list. */
  readonly score: number | null;
}

/** The data of the small fields. Times in milliseconds since 1970. */
export interface JobFacts {
  readonly name: string | null;
  /** When it was added, by the clock of the app or as the app chose. */
  readonly addedAt: number | null;
  /** When its last run began. */
  readonly processedAt: number | null;
  readonly finishedAt: number | null;
  /** How long it is or was delayed, in milliseconds. */
  readonly delay: number | null;
  /** Runs that ended: failed ones, and the one that succeeded. */
  readonly attemptsMade: number;
  /** How often it stalled and was given to be run again. */
  readonly stalls: number;
  /** Key of the parent, which waits for it. */
  readonly parentKey: string | null;
  /** Name of the worker that runs or ran it; `null` when workers have no names. */
  readonly worker: string | null;
}

/** A job that stalled too often is given to a worker once more, which fails it with this and does not run it. */
export const STALLED_TOO_OFTEN = 'job stalled more than allowable limit';

/** The small fields, in the order in which {@link factsOf} takes them. */
const FACT_FIELDS = [
  'name',
  'timestamp',
  'processedOn',
  'finishedOn',
  'delay',
  'atm',
  'attemptsMade',
  'parentKey',
  'pb',
  'stc',
  'defa',
] as const;

// BullMQ never writes longer values into these fields.
const LONGEST = 4_096;

/** @param more fields to read after the small ones */
export function factsCommand(queue: QueueRef, jobId: string, more: readonly string[] = []): QueueCommand {
  return keyCommand(queue, 'HMGET', jobId, ...FACT_FIELDS, ...more);
}

/** @returns `null` when there is no such job */
export function factsOf(reply: unknown): JobFacts | null {
  const [name, timestamp, processedOn, finishedOn, delay, atm, attemptsMade, parentKey, pb, stc, defa] =
    asFields(reply);
  const addedAt = timeOf(timestamp);
  // Every job has both fields; a hash that lost one of them still counts.
  if (addedAt === null && (name ?? null) === null) return null;
  return {
    name: shortText(name),
    addedAt,
    processedAt: timeOf(processedOn),
    finishedAt: timeOf(finishedOn),
    delay: asNumber(delay),
    // Older versions call it `attemptsMade`.
    attemptsMade: Math.max(0, asNumber(atm) ?? asNumber(attemptsMade) ?? 0),
    // With a failure that is due (`defa`), the next worker fails it and does not run it.
    stalls: Math.max(0, (asNumber(stc) ?? 0) - ((defa ?? null) === null ? 0 : 1)),
    parentKey: shortText(parentKey) || null,
    worker: shortText(pb) || null,
  };
}

/**
 * When a job last changed, as far as Redis knows: when it ended or began to wait for its children (the score),
 * when it was delayed (the time it is due, less its delay), else when its last run began, else when it was
 * added.
 */
export function lastChange(
  set: JobSet,
  score: number | null,
  { addedAt, processedAt, delay }: JobFacts,
): number | null {
  if (set.isByTime) return score === null ? null : validTime(Math.floor(score));
  const known = processedAt ?? addedAt;
  if (set.part !== 'delayed' || score === null || delay === null || delay <= 0) return known;
  return validTime(Math.max(dueTime(score) - delay, known ?? Number.NEGATIVE_INFINITY));
}

/** Parses a time in milliseconds; `null` if it is not valid. */
export function timeOf(value: string | null | undefined): number | null {
  const time = asNumber(value);
  return time === null ? null : validTime(Math.floor(time));
}

/** `null` if it is out of the range of a `Date`. */
function validTime(time: number): number | null {
  return Math.abs(time) <= 8.64e15 ? time : null;
}

/** A text that BullMQ itself writes, which is short. */
export function shortText(value: string | null | undefined): string | null {
  return value === undefined || value === null ? null : value.slice(0, LONGEST);
}

/** The data that was read from a job's hash. */
export interface JobContent {
  readonly facts: JobFacts;
  /** Its texts, in the length that a row shows; `null` when they have not been read. */
  readonly values: JobValues | null;
  /** What the job takes at most, in bytes; `null` when unknown. */
  readonly size: number | null;
}

/**
 * Reads the small fields of jobs. With texts, those that Redis says are small are read whole: that takes two commands for
 * a small job, whatever it has.
 *
 * @param withTexts whether most of them will be shown
 * @returns `null` for a job that does not exist
 */
export async function readContents(
  read: ReadCommands,
  jobs: readonly SetEntry[],
  withTexts: boolean,
): Promise<readonly (JobContent | null)[]> {
  const sizes = withTexts ? (await read(jobs.map(sizeCommand))).map(sizeOf) : [];
  const asked = jobs.map((job, index) => {
    const size = sizes[index] ?? null;
    return { job, size, fields: size === null || size > ALWAYS_READ ? [] : textsOf(job) };
  });
  const contents: (JobContent | null)[] = [];
  for (const batch of batchesOf(asked, ({ size, fields }) => (fields.length === 0 ? 0 : (size ?? 0)))) {
    const replies = await read(batch.map(({ job, fields }) => factsCommand(job.queue, job.id, fields)));
    for (const [index, { size, fields }] of batch.entries()) {
      const texts = asFields(replies[index]);
      const facts = factsOf(texts);
      const values =
        fields.length === 0 ? null : valuesOf(fields, texts.slice(FACT_FIELDS.length), ROW_BOUNDS.keep);
      contents.push(facts === null ? null : { facts, values, size });
    }
  }
  return contents;
}

/** The texts that a job of this set may show, whatever its state turns out to be. */
function textsOf({ set }: SetEntry): readonly ValueField[] {
  return set.part === 'completed'
    ? ['data', 'progress', 'returnvalue']
    : ['data', 'progress', 'failedReason', 'stacktrace'];
}
