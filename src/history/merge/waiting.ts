/** Since when a task waited for its start. */
import type { TaskEntry } from './record.ts';
import type { Run } from './run.ts';

/** What is known about the messages that were sent for a task. Times in whole milliseconds since 1970. */
export interface Sent {
  /** When the last one was sent; `null`: unknown. */
  readonly last: number | null;
  /** The highest attempt for which one was sent; −1: unknown. */
  readonly retries: number;
  /** When the last one for that attempt was sent; `null`: it was only found in its queue. */
  readonly time: number | null;
}

/** @returns what the entries of a task show about its messages */
export function sentOf(entries: readonly TaskEntry[]): Sent {
  let last: number | null = null;
  let retries = -1;
  let time: number | null = null;
  for (const entry of entries) {
    if (entry.kind !== 'sent') continue;
    const attempt = entry.retries ?? -1;
    const sentAt = entry.timeSource === 'reading' ? null : Math.floor(entry.time);
    if (attempt > retries) {
      retries = attempt;
      time = sentAt;
    } else if (attempt === retries && sentAt !== null && (time === null || sentAt > time)) time = sentAt;
    if (sentAt !== null && (last === null || sentAt > last)) last = sentAt;
  }
  return { last, retries, time };
}

/**
 * @param run the run that the task waited for
 * @returns when the message of its attempt was sent, else when it was received; `null`: unknown
 */
export function waitingSince(sent: Sent, { attempt, received }: Run): number | null {
  if (sent.time !== null && Math.max(0, sent.retries) === attempt) return sent.time;
  return received === null ? null : Math.floor(received.time);
}
