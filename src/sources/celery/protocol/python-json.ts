/**
 * Walks JSON text without parsing it, and parses it within bounds. Python's `json` writes what `JSON.parse` refuses or rounds (`NaN`,
 * `Infinity`, integers above 2^53, `1.0`), so values to be shown are copied from the text.
 */

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Most characters of one value outside strings, quotes in one string, and members of one object: a text that holds more
 * would hold the event loop, and is refused. No text that Celery writes comes near.
 */
const MAX_PLAIN = 1_100_000;
const MAX_QUOTES = 300_000;
const MAX_MEMBERS = 10_000;

/** Index of the first character at or after `index` that is not JSON white space. */
export function skipSpace(text: string, index: number): number {
  let at = index;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at;
    at += 1;
  }
}

/**
 * Index after the string whose opening quote is at `start`.
 *
 * @throws SyntaxError when the string does not end, or has too many quotes
 */
export function stringEnd(text: string, start: number): number {
  let at = start;
  for (let quotes = 0; quotes < MAX_QUOTES; quotes += 1) {
    at = text.indexOf('"', at + 1);
    if (at < 0) throw new SyntaxError('The JSON text ends within a string.');
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  throw new SyntaxError('The JSON string has too many quotes.');
}

/**
 * Index after the value that begins at `start`. Nesting uses no stack. Inside the value, only strings and
 * brackets are checked.
 *
 * @param mostPlain most characters outside strings
 * @throws SyntaxError when there is no value, it does not end, or it is too long
 */
export function valueEnd(text: string, start: number, mostPlain = MAX_PLAIN): number {
  let depth = 0;
  let at = start;
  let last = start + mostPlain;
  for (;;) {
    if (at > last) throw new SyntaxError('The JSON value is too long.');
    const code = text.charCodeAt(at);
    if (Number.isNaN(code)) {
      if (depth === 0 && at > start) return at;
      throw new SyntaxError('The JSON text ends within a value.');
    }
    if (code === QUOTE) {
      const end = stringEnd(text, at);
      if (depth === 0) return end;
      last += end - at - 1;
      at = end;
      continue;
    }
    const opens = code === 123 || code === 91;
    const closes = code === 125 || code === 93;
    if (depth === 0 && (closes || code === 44 || code <= 32)) {
      if (at === start) throw new SyntaxError('The JSON text has no value where one belongs.');
      return at;
    }
    at += 1;
    if (opens) depth += 1;
    else if (closes) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
}

/** The content of the JSON string token at `start`, which ends before `end`. */
export function readString(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner;
}

/**
 * Where the value of each member of the object at `start` begins, by name. If a name occurs twice, the last one
 * counts, as in Python.
 *
 * @throws SyntaxError when there is no valid object, or it has too many members
 */
export function objectMembers(text: string, start = 0): Map<string, number> {
  const members = new Map<string, number>();
  let at = skipSpace(text, start);
  if (text[at] !== '{') throw new SyntaxError('The JSON text is no object.');
  at = skipSpace(text, at + 1);
  while (text[at] !== '}') {
    if (text[at] !== '"') throw new SyntaxError('A name is missing in the JSON text.');
    const nameEnd = stringEnd(text, at);
    const name = readString(text, at, nameEnd);
    at = skipSpace(text, nameEnd);
    if (text[at] !== ':') throw new SyntaxError('A colon is missing in the JSON text.');
    at = skipSpace(text, at + 1);
    members.set(name, at);
    if (members.size > MAX_MEMBERS) throw new SyntaxError('The JSON object has too many members.');
    at = skipSpace(text, valueEnd(text, at));
    if (text[at] === ',') at = skipSpace(text, at + 1);
    else if (text[at] !== '}') throw new SyntaxError('A comma is missing in the JSON text.');
  }
  return members;
}

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
