/**
 * Finds the ends of values in JSON, Python reprs and plain text, even nested or truncated. Each function reads
 * each character a bounded number of times. In doubt a value is longer: masking too much is harmless.
 */
import { skipBlanks } from './characters.ts';

/** A quote with the backslashes before it: `"`, `\"`, `\\\"`. */
export interface Delimiter {
  readonly quote: string;
  readonly backslashes: number;
  /** Index at which the delimited content begins. */
  readonly end: number;
}

const BACKSLASH = 92;

/** Whether a character is a single quote, a double quote or a backtick. */
export function isQuote(character: string | undefined): boolean {
  return character === '"' || character === "'" || character === '`';
}

/** Reads the delimiter at an index; `null` when there is none. */
export function readDelimiter(text: string, at: number): Delimiter | null {
  let place = at;
  while (text.charCodeAt(place) === BACKSLASH) place++;
  const quote = text[place];
  if (quote === undefined || !isQuote(quote)) return null;
  return { quote, backslashes: place - at, end: place + 1 };
}

/** Reads the delimiter that ends directly before an index. */
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

/** End of a string: its closing delimiter, or the end of the text when that is missing. */
export interface StringEnd {
  /** Index after the content. */
  readonly content: number;
  /** Index after the closing delimiter. */
  readonly end: number;
  readonly isClosed: boolean;
}

/**
 * How to read backslashes before a quote, which the text alone does not show. `paired`: two backslashes stand
 * for one, and the quote closes. `exact`: the quote closes only with exactly the backslashes of the opening
 * one, as in a JSON text inside a repr, where two more belong to an escaped quote. `none`: backslashes have
 * no meaning, since Celery's reprs escape quotes but not backslashes.
 */
export type Reading = 'paired' | 'exact' | 'none';

/** Where a string is, which decides what can follow it: a value of a dict or list, any string there, plain text. */
export type StringPlace = 'value' | 'member' | 'text';

/**
 * Finds the end of a string. A quote closes it when its backslashes match and what follows can follow a string
 * there. The quote alone is not enough, because Celery's reprs do not escape backslashes.
 */
export function stringEnd(text: string, open: Delimiter, place: StringPlace, reading: Reading): StringEnd {
  const step = 2 * (open.backslashes + 1);
  let quote = text.indexOf(open.quote, open.end);
  for (; quote !== -1; quote = text.indexOf(open.quote, quote + 1)) {
    let first = quote;
    while (first > open.end && text.charCodeAt(first - 1) === BACKSLASH) first--;
    const backslashes = quote - first;
    const isClosing =
      reading === 'none'
        ? backslashes >= open.backslashes
        : (reading === 'exact' ? backslashes : backslashes % step) === open.backslashes;
    if (!isClosing || !canFollow(text, quote + 1, open, place)) continue;
    return { content: quote - open.backslashes, end: quote + 1, isClosed: true };
  }
  return { content: text.length, end: text.length, isClosed: false };
}

/** Whether the text at this index can follow a string. */
function canFollow(text: string, at: number, open: Delimiter, place: StringPlace): boolean {
  const next = text[at];
  if (endsItem(next) || (next === ':' && place !== 'value')) return true;
  // The end of the string around this one.
  if (isQuote(next)) return next !== open.quote || open.backslashes > 0;
  if (next === '\\') return /[nrt"'`\\]/.test(text[at + 1] ?? '');
  if (place === 'text') return !/[\p{L}\p{N}_]/u.test(next as string);
  if (next !== ' ' && next !== '\t') return false;
  const behind = text[skipBlanks(text, at)];
  return endsItem(behind) || (behind === ':' && place !== 'value');
}

/** Whether a character, or the end of the text, ends an item of a list or an object. */
function endsItem(character: string | undefined): boolean {
  return character === undefined || '\r\n,}]);'.includes(character);
}

/** Index of the next character that can end a value. */
function nextOf(characters: RegExp, text: string, at: number): number {
  characters.lastIndex = at;
  return characters.test(text) ? characters.lastIndex - 1 : text.length;
}

const BRACKETS_AND_QUOTES = /[()[\]{}"']/g;

/** Index after the closing bracket of a value that begins here; the end of the text when it is missing. */
export function bracketEnd(text: string, start: number, reading: Reading): number {
  let depth = 0;
  let at = start;
  for (; at < text.length; at = nextOf(BRACKETS_AND_QUOTES, text, at)) {
    const character = text[at] as string;
    if (isQuote(character)) {
      const open = readDelimiterBefore(text, at + 1) as Delimiter;
      at = stringEnd(text, open, 'member', reading).end;
      continue;
    }
    depth += isOpening(character) ? 1 : -1;
    at++;
    if (depth <= 0) return at;
  }
  return text.length;
}

const MEMBER_MARKS = /[,\r\n()[\]{}<"']/g;

/** The end of a bare value in a dict or an object: `12}`, `Decimal('1'), `, `<Token x>]`. */
export function memberEnd(text: string, start: number, reading: Reading): number {
  let at = nextOf(MEMBER_MARKS, text, start);
  for (; at < text.length; at = nextOf(MEMBER_MARKS, text, at)) {
    const character = text[at] as string;
    if (isOpening(character)) at = bracketEnd(text, at, reading);
    else if (character === '<') at = behind(text, '>', at);
    else if (isQuote(character)) {
      const open = readDelimiterBefore(text, at + 1) as Delimiter;
      // A quote that closes the string around this object.
      if (at === start || canFollow(text, at + 1, open, 'value')) break;
      at = stringEnd(text, open, 'member', reading).end;
    } else break;
  }
  return withoutBlanks(text, start, at);
}

const WORD_MARKS = /[ \t\r\n&;<"'`\\,()[\]{}]/g;

/** The end of a bare value after `=`, in a query, a call or a list of settings. */
export function wordEnd(text: string, start: number, reading: Reading): number {
  let at = nextOf(WORD_MARKS, text, start);
  for (; at < text.length; at = nextOf(WORD_MARKS, text, at)) {
    const character = text[at] as string;
    if (isOpening(character)) at = bracketEnd(text, at, reading);
    else if (
      character === '\\' ? !isWrittenBreak(text, at) : ',)]}'.includes(character) && !endsWord(text, at)
    )
      at++;
    else break;
  }
  return at;
}

function isOpening(character: string): boolean {
  return character === '(' || character === '[' || character === '{';
}

/** Whether a comma or closing bracket ends a word. A password may contain them. */
function endsWord(text: string, at: number): boolean {
  const next = text[at + 1];
  return next === undefined || ' \t\r\n,;&"\'`\\)]}.:'.includes(next);
}

const LINE_MARKS = /[\r\n\\"'`]/g;

/** The end of a line, or of the string that contains it. */
export function lineEnd(text: string, start: number): number {
  let inner: Delimiter | null = null;
  let at = nextOf(LINE_MARKS, text, start);
  for (; at < text.length; at = nextOf(LINE_MARKS, text, at + 1)) {
    const character = text[at] as string;
    if (isQuote(character)) {
      const here = readDelimiterBefore(text, at + 1) as Delimiter & { readonly start: number };
      // A string inside the line, as in `username="ann", response="x"`: its closing quote does not end the
      // line.
      if (inner !== null && here.quote === inner.quote && here.backslashes === inner.backslashes) {
        inner = null;
        continue;
      }
      if (!endsOuterString(text, at + 1)) {
        if (inner === null && here.start > start && text[here.start - 1] === '=') inner = here;
        continue;
      }
      while (at > start && text.charCodeAt(at - 1) === BACKSLASH) at--;
      return at;
    }
    if (character !== '\\') return withoutBlanks(text, start, at);
    const first = at;
    while (text.charCodeAt(at + 1) === BACKSLASH) at++;
    if (isWrittenBreak(text, at)) return withoutBlanks(text, start, first);
  }
  return text.length;
}

const OUTER_BEHIND =
  /\s{0,8}(?:$|[\r\n}\])]{1,8}(?:$|[\s,"'\\})\]])|,\s{0,8}(?:[bu]?\\*["']|[\d[{(}\])-]|\w{1,64}=|None|null|[Tt]rue|[Ff]alse))/y;
const OUTER_BEFORE = /(?:^|[\s,:=([{][bBuUrRfF]{0,2})$/;
const LOOK_BACK = 256;

/**
 * Whether the quotes after a key end the string that contains the key and do not begin its value. That is so
 * when they are followed by what can follow a string, and the same quotes before the key begin one.
 */
export function closesOuter(text: string, keyEnd: number, { quote, backslashes, end }: Delimiter): boolean {
  OUTER_BEHIND.lastIndex = end;
  if (!OUTER_BEHIND.test(text)) return false;
  const first = Math.max(0, keyEnd - LOOK_BACK);
  for (let at = text.lastIndexOf(quote, keyEnd - 1); at >= first; at = text.lastIndexOf(quote, at - 1)) {
    const before = readDelimiterBefore(text, at + 1);
    if (before === null || before.backslashes > backslashes) continue;
    if (before.backslashes < backslashes) return false;
    return (
      OUTER_BEFORE.test(text.slice(Math.max(0, before.start - 4), before.start)) &&
      !endsItem(text[skipBlanks(text, at + 1)])
    );
  }
  return false;
}

function endsOuterString(text: string, at: number): boolean {
  const next = text[skipBlanks(text, at)];
  return next === undefined || ',}])'.includes(next);
}

/** Whether an escaped line break (`\n`) is at this index. */
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
