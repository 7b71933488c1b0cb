/** Finds the value of a key: `'key': 'value'`, `key="value"`, `Key: value`, `<key>value</key>` … */
import { isBlankOrBreak, skipBlanks } from './characters.ts';
import { markedPlace, yamlBlockEnd } from './marked-value.ts';
import {
  bracketEnd,
  closesOuter,
  type Delimiter,
  isQuote,
  lineEnd,
  memberEnd,
  type Reading,
  readDelimiter,
  readDelimiterBefore,
  stringEnd,
  wordEnd,
} from './value-end.ts';

/** A replacement for a part of a text. */
export interface Masked {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const MASK = '***';

/** Values that cannot be a secret. */
const NOTHING = /(?:None|null|undefined|nil|True|False|true|false)(?![\w.])/y;

/** A type where a value is expected, as in a parameter or a field declaration. */
const TYPE = /(?:str|bytes|string|SecretStr)(?: \| None)?[ \t]*(?=[,)\r\n]|\\+[rn]|$)/y;

/** Separator between a key and its value. Excludes `::` and the colon of a URL scheme. */
const SEPARATOR = /[:?]?=[=>]?|!=|:(?![:/])/y;

/** A percent-encoded separator, in a query inside a query: `token%3Dabc`, `%22token%22%3A%22abc%22`. */
const ENCODED_SEPARATOR = /(?:%5b)?%5d=|(?:(?:%5b)?%5d)?(?:%2[27])?%3[ad](?:%2[27])?/iy;

/** Separator between a name and its value when both are values: `{'name': 'token', 'value': 'abc'}`. */
const NAMED_VALUE = /,\s{0,64}\\*["'](?:value|val|content)\\*["']\s{0,64}:/iy;
const NAME_OF_VALUE = /["'](?:name|key|header|field|variable|param|parameter)\\*["']\s{0,64}:\s{0,64}[bu]?$/i;

/** A string that follows a key without a separator. Excludes a quote that ends the string around the key. */
const LONE_STRING = /\\*["'][^\s,:;.)\]}\\"']/y;

/** Prefix of a Python string. */
const STRING_PREFIX = /[bBrRuUfF]{0,2}/y;

/** Where the value of a key is, and how it is written. */
interface Place {
  /** Index at which the value begins. */
  readonly value: number;
  /** How the value ends when it is neither a string nor in brackets. */
  readonly bare: 'member' | 'word' | 'line' | 'element';
  /** Quotes around the key; `null` when it has none. */
  readonly quotes: Delimiter | null;
  /** Whether only a string counts as a value. */
  readonly onlyString: boolean;
  /** Whether key and value are a pair such as `('key', 'value')`, which must end right after the value. */
  readonly isPair: boolean;
}

/** A key that names a secret. */
export interface KeyPlace {
  readonly start: number;
  readonly end: number;
  /** Whether its value may contain blanks, like that of `Authorization`. */
  readonly isHeader: boolean;
  /** Whether a string may follow the key after a blank only: `PASSWORD 'x'`. */
  readonly isPassword: boolean;
  /**
   * Whether the key is inside a text that is masked already. Only a string or a bracket can extend that mask.
   */
  readonly isHidden: boolean;
  /** Index of the last backslash of the text. After it, quotes have only one possible reading. */
  readonly lastBackslash: number;
}

/** @returns what to mask; `null` when the key has no value or the value is not a secret */
export function keyedValue(text: string, key: KeyPlace): Masked | null {
  const place = findPlace(text, key);
  if (place === null || place.value >= text.length) return null;
  const block = place.bare === 'line' ? yamlBlockEnd(text, place.value, key.start) : null;
  if (block !== null) return { start: place.value, end: block, text: MASK };
  STRING_PREFIX.lastIndex = place.value;
  STRING_PREFIX.test(text);
  const open = readDelimiter(text, STRING_PREFIX.lastIndex);
  if (open === null) return place.onlyString ? null : maskBare(text, place, key);
  // In `"label": "Password:"` the quote ends the string that contains the key.
  if (place.quotes === null && closesOuter(text, place.value, open)) return null;
  return maskTriple(text, open) ?? maskString(text, place, open);
}

function findPlace(text: string, { start, end, isHeader, isPassword }: KeyPlace): Place | null {
  const none = { quotes: null, onlyString: false, isPair: false };
  const elsewhere = markedPlace(text, start, end);
  if (elsewhere !== null) return { ...none, ...elsewhere };
  ENCODED_SEPARATOR.lastIndex = end;
  if (ENCODED_SEPARATOR.test(text)) return { ...none, value: ENCODED_SEPARATOR.lastIndex, bare: 'word' };
  const quotes = readDelimiter(text, end);
  let at = quotes?.end ?? end;
  if (text[at] === '[' && text[at + 1] === ']') at += 2;
  else if (text[at] === ']') at++;
  const mark = quotes === null ? skipBlanks(text, at) : skipSpace(text, at);
  SEPARATOR.lastIndex = mark;
  const match = SEPARATOR.exec(text);
  if (match !== null) {
    const behind = SEPARATOR.lastIndex;
    const value = match[0] === ':' && quotes !== null ? skipSpace(text, behind) : skipBlanks(text, behind);
    if (match[0] === ':' && quotes !== null) return { ...none, value, bare: 'member', quotes };
    const isLine = match[0] === ':' || isHeader || mark > at;
    return { ...none, value, bare: isLine ? 'line' : 'word' };
  }
  const isOption = text.startsWith('--', start);
  if (quotes !== null && text[mark] === ',') {
    NAMED_VALUE.lastIndex = mark;
    if (NAMED_VALUE.test(text) && isName(text, start)) {
      return { ...none, value: skipSpace(text, NAMED_VALUE.lastIndex), bare: 'member', quotes };
    }
    const isPair = !isOption && opensPair(text, start);
    if (!isOption && !isPair) return null;
    return { value: skipSpace(text, mark + 1), bare: 'word', quotes, onlyString: true, isPair };
  }
  if (isOption && mark > at && text[mark] !== '-') return { ...none, value: mark, bare: 'word' };
  const isString = isPassword && quotes === null && mark > at && startsString(text, mark);
  return isString ? { ...none, value: mark, bare: 'word', onlyString: true } : null;
}

/** Names that occur in lists of field names. */
const NAME = /^(?:password|passwd|pwd|secret|token|api_?key|cookie|session|authorization|credentials)$/i;

function startsString(text: string, at: number): boolean {
  LONE_STRING.lastIndex = at;
  return LONE_STRING.test(text);
}

/** Whether a quoted key is the first item of a list or a tuple. */
function opensPair(text: string, start: number): boolean {
  const quotes = readDelimiterBefore(text, start);
  if (quotes === null) return false;
  const before = text.slice(Math.max(0, quotes.start - 2), quotes.start);
  return /[([][bBuU]?$/.test(before);
}

/** Whether a quoted key is itself the value of a member such as `name`. */
function isName(text: string, start: number): boolean {
  const quotes = readDelimiterBefore(text, start);
  return quotes !== null && NAME_OF_VALUE.test(text.slice(Math.max(0, quotes.start - 160), quotes.start));
}

/** Masks a string in triple quotes. */
function maskTriple(text: string, open: Delimiter): Masked | null {
  const mark = '\\'.repeat(open.backslashes) + open.quote;
  if (!text.startsWith(mark + mark, open.end)) return null;
  const start = open.end + 2 * mark.length;
  const close = text.indexOf(mark.repeat(3), start);
  return { start, end: close === -1 ? text.length : close, text: MASK };
}

const CUT_STRING = /[^"'`\\\r\n]{1,1024}?(?=(?:\.{3}|…)\\*["'`])/y;

/**
 * Masks a string that the engine truncated inside a longer text: `{"note": "('password', 'abc...", "n": 1}`.
 */
function maskCut(text: string, { end }: Delimiter): Masked | null {
  CUT_STRING.lastIndex = end;
  const isFound = CUT_STRING.test(text) && !text.startsWith(MASK, end);
  return isFound ? { start: end, end: CUT_STRING.lastIndex, text: MASK } : null;
}

/** Masks a string and keeps its quotes. */
function maskString(text: string, { quotes, isPair }: Place, open: Delimiter): Masked | null {
  const where = quotes === null ? 'text' : 'value';
  const usual = stringEnd(text, open, where, 'paired');
  if (isPair && !/[)\]]/.test(text[skipBlanks(text, usual.end)] ?? ')')) return maskCut(text, open);
  // An empty string has nothing to hide.
  if (usual.isClosed && usual.content === open.end) return null;
  // `['password', 'token']` is a list of two names.
  if (isPair && NAME.test(text.slice(open.end, Math.min(usual.content, open.end + 32)))) return null;
  const { end, isClosed } = stringEnd(text, open, where, 'exact');
  const closing = text.slice(usual.content, usual.end);
  const isAny = usual.isClosed || isClosed;
  return { start: open.end, end: Math.max(usual.end, end), text: isAny ? `${MASK}${closing}` : MASK };
}

function maskBare(text: string, { value, bare, quotes }: Place, key: KeyPlace): Masked | null {
  if (bare !== 'element' && isNothing(text, value)) return null;
  const isBracketed = '([{'.includes(text[value] as string);
  if (key.isHidden && !isBracketed) return null;
  const end = bareEnd(
    text,
    value,
    isBracketed && bare === 'line' ? 'bracket' : bare,
    value < key.lastBackslash,
  );
  if (end <= value) return null;
  if (text.startsWith(MASK, value) && !/[\w*]/.test(text[value + MASK.length] ?? '')) return null;
  // Replace a number or an object by a quoted string, so that JSON stays valid.
  const quote = quotes === null ? '' : `${'\\'.repeat(quotes.backslashes)}${quotes.quote}`;
  return { start: value, end, text: `${quote}${MASK}${quote}` };
}

/** Whether the value is `None`, `true` or the like, or a type. */
function isNothing(text: string, at: number): boolean {
  TYPE.lastIndex = at;
  if (TYPE.test(text)) return true;
  NOTHING.lastIndex = at;
  return NOTHING.test(text) && endsHere(text, NOTHING.lastIndex);
}

const READINGS: readonly Reading[] = ['paired', 'exact', 'none'];

function bareEnd(
  text: string,
  value: number,
  bare: Place['bare'] | 'bracket',
  hasBackslash: boolean,
): number {
  if (bare === 'line') return lineEnd(text, value);
  if (bare === 'element') {
    const close = text.indexOf('<', value);
    const end = close === -1 ? text.length : close;
    return text.startsWith(']]>', end - 3) ? end - 3 : end;
  }
  const endOf = bare === 'bracket' ? bracketEnd : bare === 'member' ? memberEnd : wordEnd;
  if (!hasBackslash) return endOf(text, value, 'paired');
  return Math.max(...READINGS.map((reading) => endOf(text, value, reading)));
}

function endsHere(text: string, at: number): boolean {
  const next = text[at];
  return next === undefined || isBlankOrBreak(next) || ',;&)]}\\'.includes(next) || isQuote(next);
}

const SPACE = /(?:[ \t\r\n]|\\+[nr])*/y;

/** Index after blanks and line breaks, including line breaks that are escaped in a string. */
function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}
