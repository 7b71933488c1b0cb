/** Finds the value of a key and its replacement. */
import { closesOuter } from './key-context.ts';
import { keyStart } from './keys-in-text.ts';
import { judgeKey } from './secret-keys.ts';
import { afterBreak, codeAt, isKeyCode, isQuoteCode, marksOf, NO_CODE, skipBlanks } from './units.ts';
import {
  bracketEnd,
  type Delimiter,
  delimiterAt,
  endsItem,
  lineEnd,
  memberEnd,
  outerEnd,
  stringEnd,
  wordEnd,
} from './value-end.ts';
import { findPosition, type Key, type ValuePosition } from './value-position.ts';

/** A replacement for a part of a text. */
export interface Masked {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export const MASK = '***';

/** Values that cannot be a secret. */
const NOTHING = /(?:None|null|undefined|nil|True|False|true|false)(?![\w.])/y;

/** A type where a value is expected, as in a parameter or a field declaration. */
const TYPE = /(?:str|bytes|string|SecretStr)(?: \| None)?[ \t]*(?=[,)\r\n]|\\+[rn]|$)/y;

/** The first letters of these values. */
const MAY_BE_NOTHING = marksOf('NnuTtFfsbS');

/** Prefix of a string in Python, and of `$'…'` in shells, `@"…"` in C#, `N'…'` in SQL. */
const STRING_PREFIX = /(?:[bBrRuUfF]{0,2}|[$@NE])(?=\\*["'`])/y;
const MAY_BE_PREFIX = marksOf('bBrRuUfF$@NE');
const BEHIND_PREFIX = marksOf('bBrRuUfF"\'`\\');

/** @returns the part to mask; `null` when the key has no value or the value is not a secret */
export function keyValue(text: string, key: Key): Masked | null {
  const position = findPosition(text, key);
  if (position === null || position.value >= text.length) return null;
  return position.isNextLine ? maskBelow(text, position, key) : maskAt(text, position, key);
}

function maskAt(text: string, position: ValuePosition, key: Key): Masked | null {
  const block = position.bare === 'line' ? yamlBlockEnd(text, position.value, key.start) : null;
  if (block !== null) return { start: position.value, end: block, text: MASK };
  const open = stringAt(text, position.value);
  if (open === null) return position.onlyString ? null : maskBare(text, position);
  // In `"label": "Password:"` the quote ends the string that contains the key.
  if (position.quotes === null && closesOuter(text, key.start, open)) return null;
  return maskTriple(text, open) ?? maskString(text, position, open);
}

/** The opening quote of a string at an index; `null` when there is none. */
function stringAt(text: string, at: number): Delimiter | null {
  const open = delimiterAt(text, at);
  if (open !== null || MAY_BE_PREFIX[codeAt(text, at)] !== 1) return open;
  if (BEHIND_PREFIX[codeAt(text, at + 1)] !== 1) return null;
  STRING_PREFIX.lastIndex = at;
  return STRING_PREFIX.test(text) ? delimiterAt(text, STRING_PREFIX.lastIndex) : null;
}

/** Masks a string in triple quotes. */
function maskTriple(text: string, open: Delimiter): Masked | null {
  const next = codeAt(text, open.end);
  if (next !== open.quote && next !== 92) return null;
  const mark = text.slice(open.start, open.end);
  if (!text.startsWith(mark + mark, open.end)) return null;
  const start = open.end + 2 * mark.length;
  const close = text.indexOf(mark.repeat(3), start);
  return { start, end: close === -1 ? text.length : close, text: MASK };
}

/** Names that occur in lists of field names. */
const NAME = /^(?:password|passwd|pwd|secret|token|api_?key|cookie|session|authorization|credentials)$/i;

const CUT_STRING = /[^"'`\\\r\n]{1,1024}?(?=(?:\.{3}|…)\\*["'`])/y;

/** Masks a string that the engine truncated inside a longer text: `{"note": "('password', 'abc...", "n": 1}`. */
function maskCut(text: string, { end }: Delimiter): Masked | null {
  CUT_STRING.lastIndex = end;
  const isFound = CUT_STRING.test(text) && !text.startsWith(MASK, end);
  return isFound ? { start: end, end: CUT_STRING.lastIndex, text: MASK } : null;
}

/** Masks a string and keeps its quotes. */
function maskString(text: string, { quotes, isPair }: ValuePosition, open: Delimiter): Masked | null {
  const { content, end, isClosed } = stringEnd(text, open, quotes === null ? 'text' : 'value');
  if (isPair && isClosed) {
    const next = codeAt(text, skipBlanks(text, end));
    if (next !== 41 && next !== 93 && next !== NO_CODE) return maskCut(text, open);
    // `['password', 'token']` is a list of two names.
    if (NAME.test(text.slice(open.end, Math.min(content, open.end + 32)))) return null;
  }
  if (isClosed && endsInKey(text, open, content)) {
    return { start: open.end, end: outerEnd(text, open, end), text: MASK };
  }
  // An empty string has nothing to hide.
  return content === open.end ? null : { start: open.end, end: content, text: MASK };
}

/**
 * Whether the quote after a string closes another key. The engine then truncated the string, and the surrounding text
 * continues with a similar one. The end of such a string is unclear.
 */
function endsInKey(text: string, { end, quote }: Delimiter, content: number): boolean {
  if (!isKeyCode(codeAt(text, content - 1))) return false;
  const start = keyStart(text, content - 1);
  if (start <= end || judgeKey(text, start, content) !== 'secret') return false;
  const other = text.indexOf(quote === 34 ? "'" : '"', end);
  return other !== -1 && other < content;
}

function maskBare(text: string, { value, bare, quotes }: ValuePosition): Masked | null {
  if (bare !== 'element' && isNothing(text, value)) return null;
  const end = bareEnd(text, value, bare, quotes);
  if (end <= value) return null;
  if (text.startsWith(MASK, value) && !/[\w*]/.test(text[value + MASK.length] ?? '')) return null;
  // Replace a number or an object by a quoted string, so that JSON stays valid.
  const quote = quotes === null ? '' : text.slice(quotes.start, quotes.end);
  return { start: value, end, text: `${quote}${MASK}${quote}` };
}

/** Whether the value is `None`, `true` or similar, or a type. */
function isNothing(text: string, at: number): boolean {
  if (MAY_BE_NOTHING[codeAt(text, at)] !== 1) return false;
  TYPE.lastIndex = at;
  if (TYPE.test(text)) return true;
  NOTHING.lastIndex = at;
  if (!NOTHING.test(text)) return false;
  const next = codeAt(text, NOTHING.lastIndex);
  return (
    endsItem(next) ||
    isQuoteCode(next) ||
    next === 32 ||
    next === 9 ||
    next === 38 ||
    next === 92 ||
    next === 60
  );
}

function bareEnd(text: string, value: number, bare: ValuePosition['bare'], quotes: Delimiter | null): number {
  if (bare === 'element') return elementEnd(text, value);
  if (bare === 'member') return memberEnd(text, value, quotes);
  const first = codeAt(text, value);
  if (bare === 'line' && (first === 40 || first === 91 || first === 123)) {
    const end = bracketEnd(text, value, quotes);
    return isKeyCode(codeAt(text, end)) ? lineEnd(text, end) : end;
  }
  return bare === 'line' ? lineEnd(text, value) : wordEnd(text, value, quotes);
}

function elementEnd(text: string, value: number): number {
  const close = /<|&lt;/g;
  close.lastIndex = value;
  const end = close.exec(text)?.index ?? text.length;
  return text.startsWith(']]>', end - 3) ? end - 3 : end;
}

/** A line that begins with one of these words is code, so the line after it is not a value. */
const CODE = /[ \t]*(?:if|elif|else|while|for|with|def|class|try|except|return|async|match|case)\b/y;

/** Whether the line of an index is code. */
function isCode(text: string, at: number): boolean {
  let start = at;
  while (start > 0 && start > at - 128) {
    const code = codeAt(text, start - 1);
    if (code === 10 || code === 13 || isQuoteCode(code)) break;
    if (code === 92 && codeAt(text, start) === 110) {
      start++;
      break;
    }
    start--;
  }
  CODE.lastIndex = start;
  return CODE.test(text) && CODE.lastIndex <= at;
}

/** A word on its own line that may be a value: not a call, an assignment, a key or the path of a module. */
const VALUE_LINE =
  /(?![\w.]+\(|[\w.]+=[^=]|(?:pass|return|continue|break|raise|end|else)\b)[^\s"'`\\{}[\]<>:]{4,512}(?=[ \t]*(?:$|[\r\n]|\\+[nr]|\\*(?:["'](?:[,}\])]|$)|$)))/y;

/** Characters with which such a line does not begin. */
const NO_VALUE_LINE = marksOf(' \t\r\n"\'`\\{}[]<>:');

/** Masks a value on the line below its key: `password:`, line break, `hunter2`. */
function maskBelow(text: string, position: ValuePosition, key: Key): Masked | null {
  const block = yamlBlockEnd(text, position.value, key.start);
  if (block !== null) return { start: position.value, end: block, text: MASK };
  const below = skipBlanks(text, afterBreak(text, position.value));
  const blank = afterBreak(text, below);
  const value = blank === -1 ? below : skipBlanks(text, blank);
  const open = stringAt(text, value);
  if (open !== null) {
    const { content, isClosed, end } = stringEnd(text, open, 'text');
    // A key in quotes, and the quote that ends the string around the key.
    if (isClosed && codeAt(text, end) === 58) return null;
    if (content === open.end || closesOuter(text, key.start, open) || isCode(text, key.start)) return null;
    return { start: open.end, end: content, text: MASK };
  }
  if (NO_VALUE_LINE[codeAt(text, value)] === 1) return null;
  VALUE_LINE.lastIndex = value;
  if (!VALUE_LINE.test(text) || text.startsWith(MASK, value) || isNothing(text, value)) return null;
  // After an empty line, a word may be the start of a sentence.
  const end = VALUE_LINE.lastIndex;
  if (blank !== -1 && !/\d/.test(text.slice(value, end))) return null;
  return isCode(text, key.start) ? null : { start: value, end, text: MASK };
}

/** Number of characters of the indentation before an index, list marks included. */
function indentOf(text: string, at: number): number {
  let start = at;
  while (start > at - 64 && start > 0 && ' \t-'.includes(text[start - 1] as string)) start--;
  const previous = codeAt(text, start - 1);
  const isEscaped = (previous === 110 || previous === 114) && codeAt(text, start - 2) === 92;
  const isLine =
    previous === NO_CODE || previous === 10 || previous === 13 || isQuoteCode(previous) || isEscaped;
  return isLine ? at - start : 0;
}

/** Beginning of a YAML block or list below a key: index after the line of the key; -1 when there is none. */
function yamlBlockStart(text: string, from: number): number {
  const code = codeAt(text, from);
  if (code !== 124 && code !== 62 && code !== 33 && code !== 10 && code !== 13 && code !== 92) return -1;
  if (code === 10 || code === 13 || code === 92) {
    const line = afterBreak(text, from);
    return line !== -1 && text.startsWith('- ', skipBlanks(text, line)) ? line : -1;
  }
  BLOCK.lastIndex = from;
  return BLOCK.test(text) ? afterBreak(text, BLOCK.lastIndex) : -1;
}

const BLOCK = /(?:![^\s\\]{1,64}[ \t]{1,8})?[|>][+-]?\d?[ \t]{0,8}(?=[\r\n\\])/y;

/**
 * End of a YAML value in the lines below its key, indented further: a block (`password: |`) or a list. `null`
 * when there is no such value.
 *
 * @param from index after the colon
 */
function yamlBlockEnd(text: string, from: number, keyStart: number): number | null {
  let line = yamlBlockStart(text, from);
  if (line === -1) return null;
  const indent = indentOf(text, keyStart);
  let end: number | null = null;
  while (line !== -1) {
    const content = skipBlanks(text, line);
    const isWithin = content - line > indent || (content - line === indent && text.startsWith('- ', content));
    const last = lineEnd(text, content);
    // A block may contain blank lines.
    if (!isWithin && last > content) break;
    end = last;
    line = afterBreak(text, last);
  }
  return end;
}
