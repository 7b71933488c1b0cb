/** The body of a message on the exchange of events: JSON of one event, or of an array of events. */
import type { Steps } from '../../../scheduler.ts';
import { skipSpace, valueEnd } from './json-text.ts';
import { parsePythonJson } from './python-json.ts';

/** Events of an array that are parsed between two pauses. */
const EVENTS_AT_ONCE = 32;

/** @returns `undefined` if the text is not JSON */
export function parseBody(text: string): unknown {
  try {
    return parsePythonJson(text);
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
  if (!text.startsWith('[{')) return take(parseBody(text));
  let at = 0;
  for (let isOver = false; !isOver; ) {
    const start = at + 1;
    try {
      for (let count = 0; count < EVENTS_AT_ONCE && !isOver; count += 1) {
        at = skipSpace(text, valueEnd(text, skipSpace(text, at + 1)));
        isOver = text[at] !== ',';
      }
    } catch {
      return take(undefined);
    }
    take(parseBody(`[${text.slice(start, at)}]`));
    yield;
  }
  if (text[at] !== ']') take(undefined);
}
