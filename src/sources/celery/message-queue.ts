/** Processes messages in order: at once while the turn of the event loop has time left, otherwise in later turns. */
import { type Steps, scheduler } from '../../scheduler.ts';

/** Most characters that may wait. Redis ends a subscriber that is 32 MB behind. */
const MAX_WAITING = 64 * 1024 * 1024;

/** Messages that wait to be taken. */
export interface MessageQueue<Message> {
  /** Takes the message after all that came before. */
  push(message: Message): void;
  /** Whether messages wait. */
  isBehind(): boolean;
  /** Drops the waiting messages, and accepts no more. */
  close(): void;
}

/** Creates an empty queue. */
export function createMessageQueue<Message>(options: {
  /** The kind of work, for the scheduler. */
  readonly kind: string;
  /** In characters. */
  sizeOf(message: Message): number;
  /** Takes a message, and never throws. @returns steps for a long message, else `null` */
  take(message: Message): Steps<void> | null;
  /** Called for each message that has to be dropped, because too many wait. */
  lost(): void;
}): MessageQueue<Message> {
  const { kind, sizeOf, take, lost } = options;
  let waiting: Message[] = [];
  let size = 0;
  let isTaking = false;
  let isClosed = false;

  function* takeAll(begun: Steps<void> | null): Steps<void> {
    if (begun !== null) yield* begun;
    while (waiting.length > 0) {
      const messages = waiting;
      waiting = [];
      for (const message of messages) {
        if (isClosed) return;
        size -= sizeOf(message);
        const steps = take(message);
        if (steps !== null) yield* steps;
        yield;
      }
    }
  }

  function start(begun: Steps<void> | null): void {
    isTaking = true;
    const end = (): void => {
      isTaking = false;
      if (waiting.length > 0) start(null);
    };
    const taken = scheduler.run(kind, takeAll(begun));
    if (taken instanceof Promise) void taken.then(end, end);
    else end();
  }

  return {
    push(message) {
      if (isClosed) return;
      if (!isTaking && scheduler.hasTime()) {
        const steps = scheduler.measure(() => take(message));
        if (steps !== null) start(steps);
        return;
      }
      const length = sizeOf(message);
      if (size + length > MAX_WAITING) return lost();
      waiting.push(message);
      size += length;
      if (!isTaking) start(null);
    },
    isBehind: () => isTaking || waiting.length > 0,
    close() {
      isClosed = true;
      waiting = [];
    },
  };
}
