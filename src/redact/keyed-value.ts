/** Finds the value that belongs to a key: `'key': 'value'`, `key="value"`, `Key: value`, `<key>value</key>` … */
import { isBlankOrBreak, skipBlanks } from './characters.ts';
import {
  bracketEnd,
  type Delimiter,
  isQuote,
  lineEnd,
  memberEnd,
  readDelimiter,
  readDelimiterBefore,
  stringEnd,
  wordEnd,
} from './value-end.ts';

/** What to put in place of a part of a text. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const MASK = '***';

/** Values that tell that there is no secret. */
const NOTHING = /(?:None|null|undefined|nil|True|False|true|false)(?![\w.])/y;

/** Where a key stands, and how its value is written. */
interface Place {
  /** Where the value begins. */
  readonly value: number;
  /** How the value ends when it is neither a string nor in brackets. */
  readonly bare: 'member' | 'word' | 'line' | 'element';
  /** The quotes of the key. */
  readonly quotes: Delimiter | null;
  /** Whether the value has to be a string. */
  readonly onlyString: boolean;
  /** `('key', 'value')`: nothing but the closing bracket may follow. */
  readonly isPair: boolean;
}

/**
 * @param start where the key begins
 * @param end behind the key
 * @param isHeader whether the key is one whose values have blanks in them, such as `Authorization`
 * @returns what to mask; `null` when no value follows or there is nothing to hide
 */
export function keyedValue(text: string, start: number, end: number, isHeader: boolean): Replacement | null {
  const place = findPlace(text, start, end, isHeader);
  if (place === null || place.value >= text.length) return null;
  return maskString(text, place) ?? (place.onlyString ? null : maskBare(text, place));
}

function findPlace(text: string, start: number, end: number, isHeader: boolean): Place | null {
  const none = { quotes: null, onlyString: false, isPair: false };
  if (text[end] === '>' && (text[start - 1] === '<' || text[start - 1] === ':')) {
    return { ...none, value: end + 1, bare: 'element' };
  }
  const quotes = readDelimiter(text, end);
  let at = quotes?.end ?? end;
  if (text[at] === '[' && text[at + 1] === ']') at += 2;
  else if (text[at] === ']') at++;
  const mark = skipBlanks(text, at);
  const separator = /:?=[=>]?|!=|:(?![:/])/y;
  separator.lastIndex = mark;
  const match = separator.exec(text);
  if (match !== null) {
    const behind = separator.lastIndex;
    const value = match[0] === ':' && quotes !== null ? skipSpace(text, behind) : skipBlanks(text, behind);
    if (match[0] === ':' && quotes !== null) return { ...none, value, bare: 'member', quotes };
    const isLine = match[0] === ':' || isHeader || mark > at;
    return { ...none, value, bare: isLine ? 'line' : 'word' };
  }
  const isOption = text.startsWith('--', start);
  if (quotes !== null && text[mark] === ',') {
    const isPair = !isOption && opensPair(text, start);
    if (!isOption && !isPair) return null;
    return { value: skipSpace(text, mark + 1), bare: 'word', quotes, onlyString: true, isPair };
  }
  return isOption && mark > at && text[mark] !== '-' ? { ...none, value: mark, bare: 'word' } : null;
}

/** Whether a quoted key is the first item of a list or a tuple. */
function opensPair(text: string, start: number): boolean {
  const quotes = readDelimiterBefore(text, start);
  if (quotes === null) return false;
  const before = text.slice(Math.max(0, quotes.start - 2), quotes.start);
  return /[([][bBuU]?$/.test(before);
}

/** Masks a string and keeps its quotes. */
function maskString(text: string, { value, bare, quotes, isPair }: Place): Replacement | null {
  const prefix = /[bBrRuUfF]{0,2}/y;
  prefix.lastIndex = value;
  prefix.exec(text);
  const open = readDelimiter(text, prefix.lastIndex);
  if (open === null) return null;
  const { content, end, isClosed } = stringEnd(text, open, bare === 'member' || quotes !== null);
  if (isPair && !/[)\]]/.test(text[skipBlanks(text, end)] ?? ')')) return null;
  // Nothing is hidden where nothing is.
  if (isClosed && content === open.end) return { start: open.end, end: content, text: '' };
  return { start: open.end, end: content, text: MASK };
}

function maskBare(text: string, { value, bare, quotes }: Place): Replacement | null {
  NOTHING.lastIndex = value;
  if (bare !== 'element' && NOTHING.test(text) && endsHere(text, NOTHING.lastIndex)) return null;
  const end = bareEnd(text, value, bare);
  if (end <= value) return null;
  const isMasked = text.startsWith(MASK, value) && !/\w/.test(text[value + MASK.length] ?? '');
  if (isMasked) return { start: value, end: value + MASK.length, text: MASK };
  // In place of a number or an object stands a string, so that JSON stays JSON.
  const quote = quotes === null ? '' : `${'\\'.repeat(quotes.backslashes)}${quotes.quote}`;
  return { start: value, end, text: `${quote}${MASK}${quote}` };
}

function bareEnd(text: string, value: number, bare: Place['bare']): number {
  if (bare === 'element') {
    const close = text.indexOf('<', value);
    return close === -1 ? text.length : close;
  }
  if (bare === 'line')
    return '([{'.includes(text[value] as string) ? bracketEnd(text, value) : lineEnd(text, value);
  return bare === 'member' ? memberEnd(text, value) : wordEnd(text, value);
}

function endsHere(text: string, at: number): boolean {
  const next = text[at];
  return next === undefined || isBlankOrBreak(next) || ',;&)]}\\'.includes(next) || isQuote(next);
}

function skipSpace(text: string, at: number): number {
  let place = at;
  while (isBlankOrBreak(text[place])) place++;
  return place;
}
