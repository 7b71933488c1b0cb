/** Messages of streams (HTML Standard, 9.2 "Server-sent events"), and the memory that they take until they are read. */
import type { AnswerEntry } from './answer-entry.ts';

/** A message. It can be sent to every client with the same cursor. */
export interface StreamMessage {
  readonly bytes: Buffer;
  /** Number of clients that have not read all of it. */
  readers: number;
}

const KEY = Symbol.for('express-task-monitor.unread.1');

/** Bytes of all unread messages of the process. A message counts once, however many clients read it. */
const unread: { bytes: number } = sharedCount(globalThis as { [KEY]?: { bytes: number } });

/** ESM and CommonJS entries and several installed copies of the library share it. */
function sharedCount(holder: { [KEY]?: { bytes: number } }): { bytes: number } {
  holder[KEY] ??= { bytes: 0 };
  return holder[KEY];
}

const messages = new WeakMap<AnswerEntry, StreamMessage>();

/** The message with this answer: the same for all clients that get the answer. */
export function messageOf(entry: AnswerEntry): StreamMessage {
  const made = messages.get(entry);
  if (made !== undefined) return made;
  const { body, content } = entry;
  const id = content.position?.cursor ?? '';
  const message = messageWith(Buffer.concat([Buffer.from(`id: ${id}\ndata: `), body, Buffer.from('\n\n')]));
  messages.set(entry, message);
  return message;
}

export function messageWith(bytes: Buffer): StreamMessage {
  return { bytes, readers: 0 };
}

/** Bytes of all unread messages of the process. */
export function unreadBytes(): number {
  return unread.bytes;
}

/** Notes that a client begins to read a message. */
export function hold(message: StreamMessage): void {
  if (message.readers === 0) unread.bytes += message.bytes.length;
  message.readers += 1;
}

/** Notes that a client has read a message, or has left. */
export function release(message: StreamMessage): void {
  message.readers -= 1;
  if (message.readers === 0) unread.bytes -= message.bytes.length;
}
