/** Tells the history and the lineage of each message that is seen, once. */
import type { CollectedHistory, TaskFacts } from '../../../history/history.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { QueuedTask } from '../protocol/messages.ts';
import { decodeTaken, decodeWaiting, type FindQueue } from '../protocol/queue-message.ts';
import { type HeldMessage, holdMessage } from './held-message.ts';
import { takenTime } from './taken-commands.ts';

/** Tags that are remembered: more than are held at a time, so that nothing is told again. */
const MAX_SEEN = 20_000;
/** Facts of tasks that the history does not know yet, and how long they outlive their message. */
const MAX_UNTOLD = 20_000;
const MAX_UNTOLD_BYTES = 16 * 1024 * 1024;
const UNTOLD_FOR = 30_000;

/** Messages that were seen, and those of them that could not be read. */
export interface MessageCounts {
  readonly messages: number;
  readonly unreadable: number;
}

/** Of a tag without a message: left behind, or acknowledged at this moment, and no fault in either case. */
const NONE = holdMessage('', null);

/** Takes in messages. */
export interface MessageIntake {
  /** An entry of a queue's list. */
  waiting(raw: string, queue: string): HeldMessage;
  /** An entry of `unacked` and its score; `raw` is `null` where there is none for a tag. */
  taken(raw: string | null, tag: string, score: string): HeldMessage;
  /**
   * Events of a task may come behind its message, which may be gone by then: facts that the history did
   * not want are offered again.
   *
   * @param isHeld whether a message of that task is still there
   */
  offerAgain(isHeld: (id: string) => boolean, now: number): void;
  counts(): MessageCounts;
}

/** @param findQueue for messages that were taken */
export function createMessageIntake(
  history: CollectedHistory,
  lineage: Lineage,
  findQueue: FindQueue,
): MessageIntake {
  const seen = new Set<string>();
  const untold = new Map<string, { facts: TaskFacts; bytes: number; goneAt: number | null }>();
  let untoldBytes = 0;
  let messages = 0;
  let unreadable = 0;

  function isNew(tag: string): boolean {
    if (seen.has(tag)) return false;
    if (seen.size >= MAX_SEEN) seen.delete(seen.values().next().value as string);
    seen.add(tag);
    return true;
  }

  function forget(id: string): void {
    untoldBytes -= untold.get(id)?.bytes ?? 0;
    untold.delete(id);
  }

  function tell(message: HeldMessage, task: QueuedTask | null): void {
    if (!isNew(message.tag)) return;
    messages += 1;
    if (task === null) {
      unreadable += 1;
      history.writer.recordDropped(1);
      return;
    }
    const { facts } = task;
    forget(facts.id);
    history.writer.recordFacts(facts);
    if (history.index.stateOf(facts.id) === null) {
      untold.set(facts.id, { facts, bytes: message.bytes, goneAt: null });
      untoldBytes += message.bytes;
      while (untold.size > MAX_UNTOLD || untoldBytes > MAX_UNTOLD_BYTES) {
        forget(untold.keys().next().value as string);
      }
    }
    lineage.queued(task);
  }

  function take(raw: string, task: QueuedTask | null): HeldMessage {
    const message = holdMessage(raw, task);
    tell(message, task);
    return message;
  }

  return {
    waiting: (raw, queue) => take(raw, decodeWaiting(raw, queue)),
    taken(raw, tag, score) {
      const message = raw === null ? NONE : take(raw, decodeTaken(raw, takenTime(score), findQueue));
      return { ...message, tag, score };
    },
    offerAgain(isHeld, now) {
      for (const [id, waiting] of untold) {
        if (history.index.stateOf(id) !== null) {
          history.writer.recordFacts(waiting.facts);
          forget(id);
        } else if (isHeld(id)) waiting.goneAt = null;
        else {
          waiting.goneAt ??= now;
          if (now - waiting.goneAt > UNTOLD_FOR) forget(id);
        }
      }
    },
    counts: () => ({ messages, unreadable }),
  };
}
