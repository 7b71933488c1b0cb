/** Queues, jobs and their keys, as BullMQ lays them out (bullmq, classes/queue-keys). */
import type { RedisReader } from '../../../redis/reader.ts';

/** A queue that is read. */
export interface QueueRef {
  /** Without a colon: BullMQ refuses names that have one. Unique within one source. */
  readonly name: string;
  /** Such as `bull`, or `{bull}` in a cluster. */
  readonly prefix: string;
  /** The Redis that it lies on. */
  readonly reader: RedisReader;
  /** Key of a part of the queue, such as `wait`, `events`, `repeat:<id>`. That of a job is its id. */
  key(part: string): string;
}

/** Where a job lies, whether it still does or not. */
export interface JobRef {
  readonly queue: QueueRef;
  /** BullMQ's id, unique within its queue. */
  readonly id: string;
}

export function createQueueRef(name: string, prefix: string, reader: RedisReader): QueueRef {
  return { name, prefix, reader, key: (part) => `${prefix}:${name}:${part}` };
}

/** The task's id: `<queue>:<job id>`. The first colon ends the queue's name, as names have none. */
export function taskIdOf(queue: string, jobId: string): string {
  return `${queue}:${jobId}`;
}

/** What {@reader taskIdOf} was given; `null` for what is no such id. */
export function splitTaskId(taskId: string): { readonly queue: string; readonly jobId: string } | null {
  const colon = taskId.indexOf(':');
  if (colon <= 0 || colon === taskId.length - 1) return null;
  return { queue: taskId.slice(0, colon), jobId: taskId.slice(colon + 1) };
}

/**
 * The parts of a job's whole key, as parents and children name each other. The prefix may have colons and
 * so may the id: it is one of the known prefixes, or else all up to the last but one colon.
 *
 * @returns `null` for what is no such key
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
