/** The body of a message on the exchange of events: JSON of one event, or of an array of events. */
import type { Steps } from '../../../scheduler.ts';
import { skipSpace, valueEnd } from './json-text.ts';
import { parseBounded, SHORT_TEXT } from './python-json.ts';

/** Longest body, in bytes. Celery sends up to 24 events together, each of a few kilobytes. */
export const LONGEST_BODY = 4 * 1024 * 1024;

/** Events of an array that are parsed between two pauses. */
const EVENTS_AT_ONCE = 32;

/** @returns `undefined` if the text is not JSON, or takes too long to read */
export function parseBody(text: string): unknown {
  try {
    return parseBounded(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses a long array a few events at a time, and everything else as a whole.
 *
 * @param take receives what {@link parseBody} would return, or one part of the array after the other
 */
export function* parseInSteps(text: string, take: (body: unknown) => void): Steps<void> {
  let at = skipSpace(text, 0);
  if (text[at] !== '[' || text[skipSpace(text, at + 1)] === ']') return take(parseBody(text));
  for (let isOver = false; !isOver; ) {
    const start = at + 1;
    try {
      for (let count = 0; count < EVENTS_AT_ONCE && at - start < SHORT_TEXT / 2 && !isOver; count += 1) {
        at = skipSpace(text, valueEnd(text, skipSpace(text, at + 1)));
        isOver = text[at] !== ',';
      }
    } catch {
      return take(undefined);
    }
    yield;
    take(parseBody(`[${text.slice(start, at)}]`));
    yield;
  }
  if (text[at] !== ']') take(undefined);
}
