import { skipSpace, stringEnd, valueEnd } from './json-text.ts';

/** A text up to this length is parsed whatever it holds, in characters. */
export const SHORT_TEXT = 64 * 1024;
/** Most characters outside strings of a longer one: ten thousand members, all named differently, take some 10 ms. */
const MOST_PLAIN = 60_000;

/**
 * Parses what anybody may have written into a broker, unless that would hold the event loop.
 *
 * @param mostPlain most characters outside strings, if it is long
 * @throws SyntaxError when the text is not JSON as Python writes it, or would take too long
 */
export function parseBounded(text: string, mostPlain = MOST_PLAIN): unknown {
  if (text.length > SHORT_TEXT) valueEnd(text, skipSpace(text, 0), mostPlain);
  return parsePythonJson(text);
}

/**
 * Parses JSON as Python's `json` module writes it. Text that `JSON.parse` accepts costs nothing more. Otherwise
 * `NaN`, `Infinity` and `-Infinity` become `null`. Integers above 2^53 lose digits: to show a value, use
 * `pythonText`, which keeps the digits of all numbers.
 *
 * @throws SyntaxError when the text is not valid even so
 */
export function parsePythonJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const plain = withoutSpecialNumbers(text);
    if (plain === null) throw error;
    return JSON.parse(plain);
  }
}

/** The text with `null` for each special number; `null` if it has none. */
function withoutSpecialNumbers(text: string): string | null {
  let out = '';
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') {
      at = stringEnd(text, at);
      continue;
    }
    const length = char === 'N' || char === 'I' || char === '-' ? specialNumberLength(text, at) : 0;
    if (length > 0) {
      out += `${text.slice(copied, at)}null`;
      at += length;
      copied = at;
    } else at += 1;
  }
  return copied === 0 ? null : out + text.slice(copied);
}

/** The length of `NaN`, `Infinity` or `-Infinity` at this index; 0 if there is none. */
function specialNumberLength(text: string, at: number): number {
  if (text.startsWith('NaN', at)) return 3;
  if (text.startsWith('Infinity', at)) return 8;
  return text.startsWith('-Infinity', at) ? 9 : 0;
}
