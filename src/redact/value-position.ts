/** Finds where the value of a key begins: `'key': 'value'`, `key="value"`, `Key: value`, `<key>value</key>` … */

import { isArgument, isNamedAttribute, opensElement, opensPair } from './key-context.ts';
import { endsIn } from './keys-in-text.ts';
import {
  afterBackslashes,
  afterBreak,
  codeAt,
  isQuoteCode,
  mayBeEntity,
  skipBlanks,
  skipSpace,
  unitAt,
} from './units.ts';
import { type Delimiter, delimiterAt } from './value-end.ts';

/** Where the value of a key is, and how it is written. */
export interface ValuePosition {
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
  /** Whether a value on the next line counts only if it looks like one. */
  readonly isNextLine: boolean;
}

/** A key that names a secret. */
export interface Key {
  readonly start: number;
  readonly end: number;
}

/** Whether the value of a key may contain blanks and semicolons. */
const isHeader = (text: string, key: Key): boolean =>
  endsIn(text, key.start, key.end, 'authorization') || endsIn(text, key.start, key.end, 'cookie');

/** Whether a string may follow a key after a blank only: `PASSWORD 'x'`. */
const isPassword = (text: string, key: Key): boolean =>
  endsIn(text, key.start, key.end, 'password') ||
  endsIn(text, key.start, key.end, 'passwd') ||
  endsIn(text, key.start, key.end, 'passphrase');

/** A position after a key without quotes. */
function positionAt(
  value: number,
  bare: ValuePosition['bare'],
  quotes: Delimiter | null = null,
): ValuePosition {
  return { value, bare, quotes, onlyString: false, isPair: false, isNextLine: false };
}

/** A line break, plain or escaped. */
const BREAK = '(?:\\r?\\n|\\\\+r\\\\+n|\\\\+n)';

const OPEN = '(?:<|&lt;)';
const CLOSE = '(?:>|&gt;)';

/** Text between the name of an XML tag and its value: `<password>`, `<wsse:Password Type="x">`. */
const ELEMENT = new RegExp(`(?:\\s[\\w:.-]{1,64}=\\\\*["'][^<>]{0,256}?)?${CLOSE}(?:<!\\[CDATA\\[)?`, 'y');

/** Between the name and the value of a member in plist and XML-RPC: `<key>password</key> <string>`. */
const NEXT_ELEMENT = new RegExp(
  `${OPEN}/(?:key|name|string)${CLOSE}(?:(?:\\s|\\\\+[nrt]){0,32}${OPEN}[\\w:]{1,32}${CLOSE}){1,3}`,
  'iy',
);

/** Text between an element's name in an attribute and the content: `name="password" type="x">`. */
const REST_OF_TAG = /\\*["'][^<>\r\n]{0,80}(?<!\/)>(?:\s{0,32}<(?:value|string)>)?(?=[^<\s\\])/y;

/** Text between name and value in a form: `Content-Disposition: form-data; name="password"`, an empty line. */
const FORM_PART = new RegExp(`\\\\*["'](?:;[^\\r\\n\\\\]{0,256})?${BREAK}${BREAK}`, 'y');

/** Text between field and value in a message of pydantic: the fault on the next line, with `input_value=`. */
const FAULTY_INPUT = new RegExp(`${BREAK} {2,8}[^\\r\\n]{0,256}?\\binput_value=`, 'y');

/** Between a key and its value as PHP serializes them: `s:8:"password";s:1:"x";`. */
const SERIALIZED = /;(?:s:\d{1,9}:|[idb]:|(?=[aO]:\d))/y;

/** A string that follows a key without a separator. Excludes a quote that ends the string around the key. */
const LONE_STRING = /[NE]?\\*["'][^\s,:;.)\]}\\"']/y;

/** Index after the match of a pattern at `at`; `null` when it does not match. */
function behind(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** Whether a value can follow a key at all. Decides most cases by one character. */
export function mayHaveValue(text: string, start: number, end: number): boolean {
  const code = codeAt(text, end);
  if (code === 38) return mayBeEntity(text, end);
  if (code !== 32 && code !== 9 && code < 128) return FOLLOWERS[code] === 1;
  const at = skipBlanks(text, end);
  const next = codeAt(text, at);
  if ((next === 78 || next === 69) && isQuoteCode(codeAt(text, afterBackslashes(text, at + 1)))) return true;
  if (next >= 128) return next === 0xff1a || next === 0xff1d;
  // An option, and an element with attributes.
  return FOLLOWERS[next] === 1 || isOption(text, start) || opensElement(text, start);
}

/** Whether a key is an option of a command: `--password`. */
function isOption(text: string, start: number): boolean {
  return codeAt(text, start) === 45 && codeAt(text, start + 1) === 45;
}

const FOLLOWERS = new Uint8Array(128);
for (const follower of '\r\n\\"\'`:=!?>],%;<[\x1b') FOLLOWERS[follower.charCodeAt(0)] = 1;

/** @returns `null` when the key has no value */
export function findPosition(text: string, key: Key): ValuePosition | null {
  const { start, end } = key;
  const marked = elementPosition(text, start, end) ?? marginPosition(text, start, end);
  if (marked !== null) return marked;
  const encoded = encodedPosition(text, end);
  if (encoded !== null) return encoded;
  const quotes = delimiterAt(text, end);
  let at = quotes?.end ?? end;
  // `user[password]=`, `tokens[]=`
  if (mayBeBracket(text, at)) {
    if (unitAt(text, at).code === 91) at = unitAt(text, at).end;
    if (unitAt(text, at).code === 93) at = unitAt(text, at).end;
  }
  const mark = quotes === null ? skipBlanks(text, at) : skipSpace(text, at);
  const separator = separatorAt(text, mark);
  if (separator !== null) return behindSeparator(text, key, quotes, separator, mark > at);
  if (quotes !== null && codeAt(text, mark) === 59) {
    const value = behind(SERIALIZED, text, mark);
    return value === null ? null : positionAt(value, 'word');
  }
  const option = isOption(text, start);
  if (quotes !== null && codeAt(text, mark) === 44) {
    const isPair = !option && (opensPair(text, start) || isArgument(text, start));
    if (!option && !isPair) return null;
    const value = skipSpace(text, mark + 1);
    return { value, bare: 'word', quotes, onlyString: true, isPair, isNextLine: false };
  }
  if (option && mark > at && text[mark] !== '-') return positionAt(mark, 'word');
  if (quotes !== null || mark === at || !isPassword(text, key)) return null;
  if (behind(LONE_STRING, text, mark) === null) return null;
  return { value: mark, bare: 'word', quotes: null, onlyString: true, isPair: false, isNextLine: false };
}

/** Whether a bracket may be at an index, perhaps encoded. */
function mayBeBracket(text: string, at: number): boolean {
  const code = codeAt(text, at);
  return code === 91 || code === 93 || code === 37 || code === 92;
}

interface Separator {
  readonly end: number;
  /** A colon alone. */
  readonly isColon: boolean;
}

/** The separator between a key and its value at an index: `=`, `:`, `=>`, `:=`, `==`, `!=`, `?=`; not `::` or `:/`. */
function separatorAt(text: string, at: number): Separator | null {
  // Most have blanks or a quote after the colon.
  const behindColon = codeAt(text, at) === 58 ? codeAt(text, at + 1) : 0;
  if (behindColon === 32 || behindColon === 34 || behindColon === 39) return { end: at + 1, isColon: true };
  const first = unitAt(text, at);
  const isMark = first.code === 58 || first.code === 63 || first.code === 33;
  const next = isMark ? unitAt(text, first.end) : first;
  if (next.code === 61) {
    const last = unitAt(text, next.end);
    return { end: last.code === 61 || last.code === 62 ? last.end : next.end, isColon: false };
  }
  if (first.code === 0xff1d) return { end: first.end, isColon: false };
  if (first.code !== 58 && first.code !== 0xff1a) return null;
  return next.code === 58 || next.code === 47 ? null : { end: first.end, isColon: true };
}

function behindSeparator(
  text: string,
  key: Key,
  quotes: Delimiter | null,
  { end, isColon }: Separator,
  isApart: boolean,
): ValuePosition {
  if (isColon && quotes !== null) return positionAt(skipSpace(text, end), 'member', quotes);
  const value = skipBlanks(text, end);
  const isLine = isColon || isApart || isHeader(text, key);
  const next = afterBreak(text, value);
  // Only blanks: the value may be on the next line.
  if (next !== -1) {
    return { value, bare: 'line', quotes: null, onlyString: false, isPair: false, isNextLine: true };
  }
  return positionAt(value, isLine ? 'line' : 'word');
}

/** A percent-encoded separator, in a query inside a query: `token%3Dabc`, `%22token%22%3A%22abc%22`. */
const ENCODED_SEPARATOR =
  /(?:%(?:25)*5b)?%(?:25)*5d=|(?:(?:%(?:25)*5b)?%(?:25)*5d)?(?:%(?:25)*2[27])?%(?:25)*3[ad]/iy;

function encodedPosition(text: string, end: number): ValuePosition | null {
  if (codeAt(text, end) !== 37) return null;
  const separator = behind(ENCODED_SEPARATOR, text, end);
  return separator === null ? null : positionAt(separator, 'word');
}

/** The value of an XML element that is named by the key, or by the text of the previous element. */
function elementPosition(text: string, start: number, end: number): ValuePosition | null {
  const previous = codeAt(text, start - 1);
  const next = codeAt(text, end);
  if ((previous === 60 || previous === 58 || previous === 59) && opensElement(text, start)) {
    const value = behind(ELEMENT, text, end);
    if (value !== null) return positionAt(value, 'element');
  }
  if (next !== 60 && next !== 38) return null;
  const value = behind(NEXT_ELEMENT, text, end);
  return value === null ? null : positionAt(value, 'element');
}

/** A value after a quote or a line break that follows its key: parts of forms, attributes, messages of pydantic. */
function marginPosition(text: string, start: number, end: number): ValuePosition | null {
  const next = codeAt(text, end);
  if (!isQuoteCode(next) && next !== 92 && next !== 13 && next !== 10) return null;
  if (isNamedAttribute(text, start)) {
    const part = behind(FORM_PART, text, end);
    if (part !== null) return positionAt(part, 'line');
    const content = behind(REST_OF_TAG, text, end);
    if (content !== null) return positionAt(content, 'element');
  }
  const input = isQuoteCode(next) ? null : behind(FAULTY_INPUT, text, end);
  return input === null ? null : positionAt(input, 'word');
}
