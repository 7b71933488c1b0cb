/** Queues, jobs and their keys, as BullMQ names them (bullmq, classes/queue-keys). */
import type { RedisReader } from '../../../redis/reader.ts';

/** A queue that is read. */
export interface QueueRef {
  /** Has no colon, which BullMQ refuses. Unique within one source. */
  readonly name: string;
  /** Such as `bull`, or `{bull}` in a cluster. */
  readonly prefix: string;
  /** The Redis that stores it. */
  readonly reader: RedisReader;
  /** Key of a part of the queue, such as `wait`, `events`, `repeat:<id>`; of a job for its id. */
  key(part: string): string;
}

/** The address of a job, which need not exist any more. */
export interface JobRef {
  readonly queue: QueueRef;
  /** BullMQ's id, unique within its queue. */
  readonly id: string;
}

export function createQueueRef(name: string, prefix: string, reader: RedisReader): QueueRef {
  return { name, prefix, reader, key: (part) => `${prefix}:${name}:${part}` };
}

/** The task's id, `<queue>:<job id>`. Queue names have no colons, so the first one ends the name. */
export function taskIdOf(queue: string, jobId: string): string {
  return `${queue}:${jobId}`;
}

/** Splits a task id into queue and job id; `null` if it is not a task id. */
export function splitTaskId(taskId: string): { readonly queue: string; readonly jobId: string } | null {
  const colon = taskId.indexOf(':');
  if (colon <= 0 || colon === taskId.length - 1) return null;
  return { queue: taskId.slice(0, colon), jobId: taskId.slice(colon + 1) };
}

/**
 * The parts of a job's full key, as parents and children name each other. Prefix and id may have colons: the
 * prefix is one of the known prefixes, or else everything before the last but one colon.
 *
 * @returns `null` if it is not such a key
 */
export function splitJobKey(
  key: string,
  prefixes: Iterable<string>,
): { readonly prefix: string; readonly queue: string; readonly jobId: string } | null {
  for (const prefix of prefixes) {
    const parts = key.startsWith(`${prefix}:`) ? splitTaskId(key.slice(prefix.length + 1)) : null;
    if (parts !== null) return { prefix, ...parts };
  }
  const [, prefix, queue, jobId] = /^(.+):([^:]+):([^:]+)$/s.exec(key) ?? [];
  return prefix === undefined || queue === undefined || jobId === undefined ? null : { prefix, queue, jobId };
}
