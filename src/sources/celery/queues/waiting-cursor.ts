/**
 * Cursors into the list of waiting tasks. Clients send them back, so nothing in their text is trusted:
 * whatever it says, it names a position, or none.
 */
import type { MessagePosition } from '../broker.ts';

/** Before everything. */
export const FIRST_POSITION: MessagePosition = { tag: '', part: '', takenAt: Number.NEGATIVE_INFINITY };

const HEAD = 'waiting';
const MAX_TEXT = 600;

/** The position as text. */
export function writeWaitingCursor({ part, takenAt, tag }: MessagePosition): string {
  return HEAD + JSON.stringify([part, takenAt, tag]);
}

/** @returns `null` when the text names no position */
export function readWaitingCursor(text: string): MessagePosition | null {
  if (!text.startsWith(HEAD)) return null;
  try {
    const fields: unknown = JSON.parse(text.slice(HEAD.length));
    if (!Array.isArray(fields) || fields.length !== 3) return null;
    const [part, takenAt, tag] = fields as unknown[];
    if (!isText(part) || !isText(tag)) return null;
    return { part, tag, takenAt: typeof takenAt === 'number' ? takenAt : Number.NEGATIVE_INFINITY };
  } catch {
    return null;
  }
}

/**
 * The index of the first message behind a position. Messages leave a queue in the order in which they
 * run: when the one at the position has gone, so have all before it, and the page continues with the
 * first that is left. Messages that workers hold leave in any order and are placed by the time.
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
