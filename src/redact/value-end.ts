/**
 * Finds where values end in JSON, Python reprs and plain text alike, also in JSON inside of JSON and in
 * texts that were cut. Each function looks at each character a bounded number of times. In doubt a value is
 * taken to be longer: hiding too much is harmless.
 */
import { skipBlanks } from './characters.ts';

/** A quote with the backslashes before it: `"`, `\"`, `\\\"`. */
export interface Delimiter {
  readonly quote: string;
  readonly backslashes: number;
  /** Where what it delimits begins. */
  readonly end: number;
}

const BACKSLASH = 92;

export function isQuote(character: string | undefined): boolean {
  return character === '"' || character === "'" || character === '`';
}

/** Reads a delimiter at a place; `null` when there is none. */
export function readDelimiter(text: string, at: number): Delimiter | null {
  let place = at;
  while (text.charCodeAt(place) === BACKSLASH) place++;
  const quote = text[place];
  if (quote === undefined || !isQuote(quote)) return null;
  return { quote, backslashes: place - at, end: place + 1 };
}

/** Reads a delimiter that ends right before a place. */
export function readDelimiterBefore(
  text: string,
  end: number,
): (Delimiter & { readonly start: number }) | null {
  const quote = text[end - 1];
  if (quote === undefined || !isQuote(quote)) return null;
  let start = end - 1;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return { quote, backslashes: end - 1 - start, end, start };
}

/** Where a string ends: its closing delimiter, or the end of the text where it is missing. */
export interface StringEnd {
  /** Behind the content. */
  readonly content: number;
  /** Behind the closing delimiter. */
  readonly end: number;
  readonly isClosed: boolean;
}

/**
 * Finds the end of a string. A quote closes it when its backslashes are those of the opening one (more mean
 * that the quote belongs to the content), and what follows is what follows a value: Celery's reprs do not
 * escape backslashes, so that a quote alone proves nothing.
 *
 * @param isStrict whether the string stands in a JSON object, a dict or a list, where little can follow it
 */
export function stringEnd(text: string, open: Delimiter, isStrict: boolean): StringEnd {
  const step = 2 * (open.backslashes + 1);
  for (
    let quote = text.indexOf(open.quote, open.end);
    quote !== -1;
    quote = text.indexOf(open.quote, quote + 1)
  ) {
    let first = quote;
    while (first > open.end && text.charCodeAt(first - 1) === BACKSLASH) first--;
    const backslashes = quote - first;
    if (backslashes % step !== open.backslashes || !canFollow(text, quote + 1, open, isStrict)) continue;
    return { content: quote - open.backslashes, end: quote + 1, isClosed: true };
  }
  return { content: text.length, end: text.length, isClosed: false };
}

/** Whether what stands here can follow a value. */
function canFollow(text: string, at: number, open: Delimiter, isStrict: boolean): boolean {
  const next = text[at];
  if (next === undefined || '\r\n,}]);:'.includes(next)) return true;
  // The end of the string that this one stands in.
  if (isQuote(next)) return next !== open.quote || open.backslashes > 0;
  if (next === '\\') return /[nrt"'`\\]/.test(text[at + 1] ?? '');
  if (!isStrict) return !/[\p{L}\p{N}_]/u.test(next);
  if (next !== ' ' && next !== '\t') return false;
  const behind = text[skipBlanks(text, at)];
  return behind === undefined || '\r\n,}]);:'.includes(behind);
}

const OPENING = '([{';
const CLOSING = ')]}';

/** The end of a bracketed value that begins here, behind its closing bracket; the end of the text if it has none. */
export function bracketEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at] as string;
    if (OPENING.includes(character)) depth++;
    else if (CLOSING.includes(character)) {
      depth--;
      if (depth <= 0) return at + 1;
    } else if (character === '"' || character === "'") {
      const open = readDelimiterBefore(text, at + 1);
      if (open !== null) at = stringEnd(text, open, true).end - 1;
    }
  }
  return text.length;
}

/** The end of a bare value in a dict or an object: `12}`, `Decimal('1'), `, `<Token x>]`. */
export function memberEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const character = text[at] as string;
    if (',\r\n'.includes(character) || CLOSING.includes(character)) break;
    if (OPENING.includes(character)) at = bracketEnd(text, at);
    else if (character === '<') at = behind(text, '>', at);
    else if (character === '"' || character === "'") {
      const open = readDelimiterBefore(text, at + 1);
      // A quote that closes what this object stands in.
      if (open === null || at === start || canFollow(text, at + 1, open, true)) break;
      at = stringEnd(text, open, true).end;
    } else at++;
  }
  return withoutBlanks(text, start, at);
}

/** The end of a bare value behind `=`, in a query, a call or a list of settings. */
export function wordEnd(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const character = text[at] as string;
    if (' \t\r\n&;<"\'`'.includes(character) || isWrittenBreak(text, at)) break;
    if (OPENING.includes(character)) at = bracketEnd(text, at) - 1;
    else if ((character === ',' || CLOSING.includes(character)) && endsWord(text, at)) break;
  }
  return at;
}

/** Whether a comma or a closing bracket ends a word: a password may hold one. */
function endsWord(text: string, at: number): boolean {
  const next = text[at + 1];
  return next === undefined || ' \t\r\n,;&"\'`\\)]}.:'.includes(next);
}

/** The end of a line, or of the string that it stands in. */
export function lineEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const character = text[at] as string;
    if (character === '\n' || character === '\r' || isWrittenBreak(text, at))
      return withoutBlanks(text, start, at);
    if (isQuote(character) && endsOuterString(text, at + 1)) {
      while (at > start && text.charCodeAt(at - 1) === BACKSLASH) at--;
      return at;
    }
  }
  return text.length;
}

function endsOuterString(text: string, at: number): boolean {
  const next = text[skipBlanks(text, at)];
  return next === undefined || ',}])'.includes(next);
}

/** A line break as strings write it: `\n`. */
function isWrittenBreak(text: string, at: number): boolean {
  return text.charCodeAt(at) === BACKSLASH && (text[at + 1] === 'n' || text[at + 1] === 'r');
}

function behind(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? text.length : at + 1;
}

function withoutBlanks(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && (text[at - 1] === ' ' || text[at - 1] === '\t')) at--;
  return at;
}
