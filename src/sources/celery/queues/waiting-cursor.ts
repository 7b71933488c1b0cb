/** Positions in the list of waiting tasks, as text inside a cursor. */
import { readMark, writeMark } from '../../../cursor.ts';
import type { MessagePosition } from '../broker.ts';

/** The position before all messages. */
export const FIRST_POSITION: MessagePosition = { tag: '', part: '', takenAt: Number.NEGATIVE_INFINITY };

const KIND = 'waiting';
const MAX_TEXT = 600;

/** Writes a position as text. */
export function writeWaitingCursor({ part, takenAt, tag }: MessagePosition): string {
  return writeMark(KIND, [part, takenAt, tag]);
}

/** @returns `null` if the text is not a position. Clients can send any text. */
export function readWaitingCursor(text: string): MessagePosition | null {
  const [part, takenAt, tag] = readMark(KIND, text) ?? [];
  if (!isText(part) || !isText(tag)) return null;
  return { part, tag, takenAt: typeof takenAt === 'number' ? takenAt : Number.NEGATIVE_INFINITY };
}

/**
 * The index of the first message after a position. Messages leave a queue in order: if the message at the
 * position has left, all before it have left too, and the page continues with the first one in the queue.
 * Unacknowledged messages leave in any order; they are sorted by the time at which they were taken.
 */
export function indexBehind(messages: readonly MessagePosition[], after: MessagePosition): number {
  const { part, tag } = after;
  const exact = messages.findIndex((message) => message.part === part && message.tag === tag);
  if (exact >= 0) return exact + 1;
  const next = messages.findIndex(
    (message) =>
      message.part > part || (message.part === part && (part !== '' || isTakenAfter(message, after))),
  );
  return next < 0 ? messages.length : next;
}

function isTakenAfter(message: MessagePosition, after: MessagePosition): boolean {
  const [a, b] = [message.takenAt ?? 0, after.takenAt ?? 0];
  return a === b ? message.tag > after.tag : a > b;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}
