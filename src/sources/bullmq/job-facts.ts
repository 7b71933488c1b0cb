/** The small fields of a job's hash (bullmq, includes/storeJob.lua and classes/job), which are always read. */

import { asFields, asNumber } from '../../redis/replies.ts';
import { dueTime, type JobSet } from './job-sets.ts';
import type { QueueCommand } from './queue-access.ts';
import type { JobRef, QueueRef } from './queue-ref.ts';

/** A job in one of its queue's sets. */
export interface SetEntry extends JobRef {
  readonly set: JobSet;
  /** `null` in a list. */
  readonly score: number | null;
}

/** What the small fields tell. Times in milliseconds since 1970. */
export interface JobFacts {
  readonly name: string | null;
  /** When it was added, by the clock of who added it, or as that one said. */
  readonly addedAt: number | null;
  /** When its last run began. */
  readonly processedAt: number | null;
  readonly finishedAt: number | null;
  /** What it waits or waited for, in milliseconds. */
  readonly delay: number | null;
  /** Runs that have ended: failed ones, and the one that succeeded. */
  readonly attemptsMade: number;
  /** Key of the job that waits for it. */
  readonly parentKey: string | null;
  /** Name of the worker that has or had it, where workers have names. */
  readonly worker: string | null;
}

const FIELDS = [
  'name',
  'timestamp',
  'processedOn',
  'finishedOn',
  'delay',
  'atm',
  'attemptsMade',
  'parentKey',
  'pb',
] as const;

// Longer values of these fields are none of BullMQ's.
const LONGEST = 4_096;

export function factsCommand(queue: QueueRef, jobId: string): QueueCommand {
  return { queue, command: ['HMGET', queue.key(jobId), ...FIELDS] };
}

/** @returns `null` when there is no such job */
export function factsOf(reply: unknown): JobFacts | null {
  const [name, timestamp, processedOn, finishedOn, delay, atm, attemptsMade, parentKey, pb] = asFields(reply);
  const addedAt = timeOf(timestamp);
  // Every job has both; a hash that lost one is still one.
  if (addedAt === null && (name ?? null) === null) return null;
  return {
    name: shortText(name),
    addedAt,
    processedAt: timeOf(processedOn),
    finishedAt: timeOf(finishedOn),
    delay: asNumber(delay),
    // The name of older versions.
    attemptsMade: Math.max(0, asNumber(atm) ?? asNumber(attemptsMade) ?? 0),
    parentKey: shortText(parentKey) || null,
    worker: shortText(pb) || null,
  };
}

/**
 * When a job last changed, as far as Redis tells: when it ended or began to wait for its children (the
 * score), when it was put among the delayed ones (when it is due, less its delay), else when its last run
 * began, else when it was added.
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

/** A time in milliseconds that Redis holds as text; `null` for what is none. */
export function timeOf(value: string | null | undefined): number | null {
  const time = asNumber(value);
  return time === null ? null : validTime(Math.floor(time));
}

/** `null` for what is no time that a Date can hold. */
function validTime(time: number): number | null {
  return Math.abs(time) <= 8.64e15 ? time : null;
}

/** A text of BullMQ's own, which is none of people's values and so is short. */
export function shortText(value: string | null | undefined): string | null {
  return value === undefined || value === null ? null : value.slice(0, LONGEST);
}
