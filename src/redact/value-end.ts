/**
 * Finds the ends of values in JSON, Python reprs and plain text, even nested or truncated, in one forward scan.
 * If an end is unclear, the value extends to the end of the surrounding string: masking too much is harmless.
 */
import {
  afterBackslashes,
  afterBreak,
  BACKSLASH,
  backslashesBefore,
  codeAt,
  isQuoteCode,
  isWordCode,
  marksOf,
  NO_CODE,
  skipBlanks,
  unitAt,
} from './units.ts';

/** A quote as written: `"`, `\"`, `\\\"`, `&quot;`, `%22`. */
export interface Delimiter {
  readonly start: number;
  /** Index at which the delimited content begins. */
  readonly end: number;
  /** Code of the quote. */
  readonly quote: number;
  /** Number of backslashes before it. */
  readonly backslashes: number;
  /** Its notation if that is not a quote after backslashes. */
  readonly notation: string | null;
}

/** Reads the quote at an index; `null` when there is none. */
export function delimiterAt(text: string, at: number): Delimiter | null {
  const behind = afterBackslashes(text, at);
  const quote = codeAt(text, behind);
  if (isQuoteCode(quote)) {
    return { start: at, end: behind + 1, quote, backslashes: behind - at, notation: null };
  }
  if (behind === at && quote !== 38 && quote !== 37) return null;
  const { code, end } = unitAt(text, at);
  if (!isQuoteCode(code)) return null;
  return { start: at, end, quote: code, backslashes: 0, notation: text.slice(at, end) };
}

/** End of a string: its closing delimiter, or the end of the surrounding string if that is missing or unclear. */
export interface StringEnd {
  /** Index after the content. */
  readonly content: number;
  /** Index after the closing delimiter. */
  readonly end: number;
  readonly isClosed: boolean;
}

/** The place of a string, which determines what can follow it: a value in a dict or list, any string there, text. */
export type StringContext = 'value' | 'member' | 'text';

const openTo = (end: number): StringEnd => ({ content: end, end, isClosed: false });

/**
 * Finds the end of a string. A quote closes it when it has as many backslashes as the opening one and what follows
 * can follow a string there. A quote with fewer closes the string around it. A quote with more that could also close
 * it makes the end unclear: the backslashes may belong to the value, because Celery's reprs do not escape them.
 */
export function stringEnd(text: string, open: Delimiter, context: StringContext): StringEnd {
  if (open.notation !== null) return notationEnd(text, open, open.notation);
  const mark = String.fromCharCode(open.quote);
  for (let quote = text.indexOf(mark, open.end); quote !== -1; quote = text.indexOf(mark, quote + 1)) {
    const first = backslashesBefore(text, quote, open.end);
    const backslashes = quote - first;
    if (backslashes < open.backslashes) return openTo(first);
    if (backslashes === open.backslashes) {
      if (canFollow(text, quote + 1, open, context))
        return { content: first, end: quote + 1, isClosed: true };
    } else if (canFollow(text, quote + 1, open, 'value')) return openTo(outerEnd(text, open, quote + 1));
  }
  return openTo(text.length);
}

function notationEnd(text: string, open: Delimiter, notation: string): StringEnd {
  for (
    let close = text.indexOf(notation, open.end);
    close !== -1;
    close = text.indexOf(notation, close + 1)
  ) {
    if (codeAt(text, close - 1) === BACKSLASH) continue;
    return { content: close, end: close + notation.length, isClosed: true };
  }
  return openTo(text.length);
}

/** End of the string that surrounds a string. */
export function outerEnd(text: string, open: Delimiter, from: number): number {
  if (open.backslashes === 0) return text.length;
  const mark = String.fromCharCode(open.quote);
  for (let quote = text.indexOf(mark, from); quote !== -1; quote = text.indexOf(mark, quote + 1)) {
    const first = backslashesBefore(text, quote, from);
    if (quote - first < open.backslashes) return first;
  }
  return text.length;
}

/** Whether the text at this index can follow a string. */
function canFollow(text: string, at: number, open: Delimiter, context: StringContext): boolean {
  const next = codeAt(text, at);
  if (endsItem(next) || (next === 58 && context !== 'value')) return true;
  // The end of the surrounding string.
  if (isQuoteCode(next)) return next !== open.quote || open.backslashes > 0;
  if (next === BACKSLASH) return '\\nrt"\'`'.includes(text.charAt(at + 1) || ' ');
  if (context === 'text') return !isWordCode(next);
  if (next !== 32 && next !== 9 && next !== 27 && next !== 38) return false;
  const behind = unitAt(text, skipBlanks(text, at)).code;
  return endsItem(behind) || (behind === 58 && context !== 'value');
}

/** Whether a character, or the end of the text, ends an item of a list or an object. */
export function endsItem(code: number): boolean {
  switch (code) {
    case 13:
    case 10:
    case 44:
    case 125:
    case 93:
    case 41:
    case 59:
      return true;
    default:
      return code === NO_CODE;
  }
}

const isOpening = (code: number): boolean => code === 40 || code === 91 || code === 123;
const isClosing = (code: number): boolean => code === 41 || code === 93 || code === 125;

/** Reads the quote at an index with the backslashes before it. */
function quoteAt(text: string, at: number, from: number): Delimiter {
  const start = backslashesBefore(text, at, from);
  return { start, end: at + 1, quote: codeAt(text, at), backslashes: at - start, notation: null };
}

/**
 * Index after the closing bracket of a value that begins here; the end of the surrounding string, or of the text, if
 * the bracket is missing or its place is unclear.
 *
 * @param outer quotes around the key of the value: a quote with fewer backslashes ends the surrounding string
 */
export function bracketEnd(text: string, start: number, outer: Delimiter | null): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const code = codeAt(text, at);
    if (code === 34 || code === 39) {
      const open = quoteAt(text, at, start);
      if (outer !== null && code === outer.quote && open.backslashes < outer.backslashes) return open.start;
      const string = stringEnd(text, open, 'member');
      if (!string.isClosed) return string.end;
      at = string.end;
      continue;
    }
    at++;
    if (isOpening(code)) depth++;
    else if (isClosing(code) && --depth <= 0) return at;
  }
  return text.length;
}

/** The end of a bare value in a dict or an object: `12}`, `Decimal('1'), `, `<Token x>]`. */
export function memberEnd(text: string, start: number, outer: Delimiter | null): number {
  let at = start;
  while (at < text.length) {
    const code = codeAt(text, at);
    if (isOpening(code)) at = bracketEnd(text, at, outer);
    else if (code === 60) {
      const close = text.indexOf('>', at);
      at = close === -1 ? text.length : close + 1;
    } else if (code === 34 || code === 39) {
      const open = quoteAt(text, at, start);
      // A quote that closes the string around this object.
      if (at === start || canFollow(text, at + 1, open, 'value')) break;
      at = stringEnd(text, open, 'member').end;
    } else if (code === 44 || code === 13 || code === 10 || isClosing(code)) break;
    else at++;
  }
  return withoutBlanks(text, start, at);
}

/** The end of a bare value after `=`, in a query, a call or a list of settings. */
export function wordEnd(text: string, start: number, outer: Delimiter | null): number {
  let at = start;
  while (at < text.length) {
    const code = codeAt(text, at);
    if (code === 32 || code === 9 || code === 13 || code === 10 || code === 38 || code === 59 || code === 60)
      break;
    if (isOpening(code)) at = bracketEnd(text, at, outer);
    else if (isQuoteCode(code)) {
      // A word may continue in quotes: `a"b c"`.
      if (!isWordCode(codeAt(text, at + 1)) || !isWordCode(codeAt(text, at - 1) || 32)) {
        return backslashesBefore(text, at, start);
      }
      at = stringEnd(text, quoteAt(text, at, start), 'text').end;
    } else if (code === BACKSLASH) {
      if (afterBreak(text, at) !== -1) break;
      at++;
    } else if ((code === 44 || isClosing(code)) && endsWord(text, at)) break;
    else at++;
  }
  return Math.max(start, at);
}

/** Whether a comma or closing bracket ends a word. A password may contain them. */
function endsWord(text: string, at: number): boolean {
  const next = codeAt(text, at + 1);
  return next === NO_CODE || BEHIND_WORD[next] === 1;
}

const BEHIND_WORD = marksOf(' \t\r\n,;&"\'`\\)]}.:');

/** The end of a line, or of the string that contains it. */
export function lineEnd(text: string, start: number): number {
  let inner: Delimiter | null = null;
  for (let at = start; at < text.length; at++) {
    const code = codeAt(text, at);
    if (isQuoteCode(code)) {
      const here: Delimiter = quoteAt(text, at, start);
      // A string inside the line, as in `username="ann", response="x"`: its closing quote does not end the line.
      if (inner !== null && here.quote === inner.quote && here.backslashes === inner.backslashes)
        inner = null;
      else if (endsOuterString(text, at + 1)) return here.start;
      else if (inner === null && codeAt(text, here.start - 1) === 61 && here.start > start) inner = here;
    } else if (code === 13 || code === 10) return withoutBlanks(text, start, at);
    else if (code === BACKSLASH) {
      const behind = afterBackslashes(text, at);
      const next = codeAt(text, behind);
      if (next === 110 || next === 114) return withoutBlanks(text, start, at);
      at = behind - 1;
    }
  }
  return text.length;
}

function endsOuterString(text: string, at: number): boolean {
  const next = codeAt(text, skipBlanks(text, at));
  return next === 44 || isClosing(next) || next === NO_CODE;
}

function withoutBlanks(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && (codeAt(text, at - 1) === 32 || codeAt(text, at - 1) === 9)) at--;
  return at;
}
