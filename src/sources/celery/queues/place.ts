/**
 * A place in the list of waiting tasks, as text for cursors. Clients send cursors back, so nothing in the
 * text is trusted: whatever it says, it names a place, or none.
 */

/** Behind which message a page goes on: first those that workers have taken, then list after list. */
export type Place =
  | { readonly phase: 'taken'; readonly score: string; readonly tag: string }
  | {
      readonly phase: 'list';
      readonly queue: string;
      /** Which of its priorities, counted in the order in which they run. */
      readonly step: number;
      /** From the right; the message lies here or further to the right. */
      readonly index: number;
      /** Of the message; empty: before all of this list. */
      readonly tag: string;
    };

/** Before everything. */
export const FIRST_PLACE: Place = { phase: 'taken', score: '-inf', tag: '' };

const HEAD = 'waiting';
const SCORE = /^(?:-?inf|-?\d[\d.e+-]{0,30})$/;
const MAX_TEXT = 512;
/** More than a list can have. */
const MAX_INDEX = 2 ** 40;

/** The place as text. */
export function writePlace(place: Place): string {
  const parts =
    place.phase === 'taken' ? [place.score, place.tag] : [place.queue, place.step, place.index, place.tag];
  return HEAD + JSON.stringify(parts);
}

/** @returns `null` when the text names no place */
export function readPlace(text: string): Place | null {
  if (!text.startsWith(HEAD)) return null;
  try {
    const parts: unknown = JSON.parse(text.slice(HEAD.length));
    return Array.isArray(parts) ? placeOf(parts) : null;
  } catch {
    return null;
  }
}

function placeOf(parts: readonly unknown[]): Place | null {
  if (parts.length === 2) {
    const [score, tag] = parts;
    return isText(score) && SCORE.test(score) && isText(tag) ? { phase: 'taken', score, tag } : null;
  }
  const [queue, step, index, tag] = parts;
  if (parts.length !== 4 || !isText(queue) || !isText(tag) || !isIndex(step) || !isIndex(index)) return null;
  return { phase: 'list', queue, step, index, tag };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INDEX;
}
