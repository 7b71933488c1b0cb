/**
 * The text of an error: the name of its class, its message, and the message without what differs between failures with
 * the same cause.
 */

/** An error, as text. */
export interface ErrorText {
  /** Name of the class without its module; `null`: the text has none. */
  readonly exception: string | null;
  /** The message with all values; `''`: there is none. */
  readonly message: string;
}

/** Longest name of a class. */
const LONGEST_NAME = 128;

/**
 * Reads `ValueError('boom')`, `shop.errors.Declined: no funds`, `TypeError [ERR_X]: boom`, or a message without a class.
 *
 * @param text some thousand characters at most
 */
export function readError(text: string): ErrorText {
  const trimmed = text.trim();
  const end = endOfPath(trimmed);
  const path = trimmed.slice(0, end);
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (name !== '' && end <= LONGEST_NAME) {
    if (trimmed[end] === '(') {
      const isClosed = trimmed.endsWith(')');
      return {
        exception: name,
        message: messageOf(trimmed.slice(end + 1, isClosed ? -1 : undefined), name),
      };
    }
    if (isClass(path, name)) {
      const rest = trimmed.slice(end);
      if (rest === '') return { exception: name, message: '' };
      const colon = /^(?: \[\w+\])?:(?=\s|$)/.exec(rest);
      if (colon !== null) return { exception: name, message: rest.slice(colon[0].length).trim() };
    }
  }
  return { exception: null, message: unquoted(trimmed) ?? trimmed };
}

/** A class name begins with a capital letter, or follows the name of a module. */
function isClass(path: string, name: string): boolean {
  const first = name[0] as string;
  return path !== name || first !== first.toLowerCase();
}

/** The end of the dotted name with which the text begins. */
function endOfPath(text: string): number {
  if (!/^[A-Za-z_$]/.test(text)) return 0;
  let end = 0;
  while (end < text.length && end <= LONGEST_NAME && /[\w$.]/.test(text[end] as string)) end++;
  return end;
}

/**
 * The message in the arguments of an exception, as Python's repr writes them: sentences without their quotes. The only
 * argument of a KeyError counts as a value, and so does each of several arguments that is a single word.
 */
function messageOf(args: string, name: string): string {
  const parts = argumentsIn(args);
  const only = parts.length === 1 && name !== 'KeyError';
  return parts
    .map((part) => {
      const text = unquoted(part);
      return text !== null && (only || text.includes(' ')) ? text : part;
    })
    .join(', ');
}

/** The arguments, split at the commas outside of quotes and brackets. */
function argumentsIn(args: string): string[] {
  const parts: string[] = [];
  let quote = '';
  let depth = 0;
  let start = 0;
  for (let at = 0; at < args.length; at++) {
    const character = args[at] as string;
    if (quote !== '') {
      if (character === '\\') at++;
      else if (character === quote) quote = '';
    } else if (character === "'" || character === '"') quote = character;
    else if ('([{'.includes(character)) depth++;
    else if (')]}'.includes(character)) depth--;
    else if (character === ',' && depth === 0) {
      parts.push(args.slice(start, at).trim());
      start = at + 1;
    }
  }
  // A tuple with one item ends with a comma.
  const last = args.slice(start).trim();
  return last === '' && parts.length > 0 ? parts : [...parts, last];
}

/** The content of a text that is quoted as a whole, even if it is cut; `null`: it is not. */
function unquoted(text: string): string | null {
  const quote = text[0];
  if (quote !== "'" && quote !== '"') return null;
  for (let at = 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at === text.length - 1 ? unescaped(text.slice(1, -1)) : null;
  }
  return unescaped(text.slice(1));
}

/** Replaces escapes; line breaks become blanks. */
function unescaped(text: string): string {
  return text.includes('\\')
    ? text.replace(/\\(.)/g, (_, of: string) => (/[nrt]/.test(of) ? ' ' : of))
    : text;
}

/** Longest result, in characters. */
const LONGEST = 240;
const QUOTES = new Set(["'", '"', '`']);

/**
 * Replaces the parts that differ between failures with the same cause: numbers, ids, addresses and quoted values. Each
 * character of any text is read a bounded number of times.
 *
 * @param text some thousand characters at most
 */
export function normalizeMessage(text: string): string {
  const unclosed = new Set<string>();
  let shown = '';
  let at = 0;
  while (at < text.length && shown.length <= LONGEST) {
    const character = text[at] as string;
    const end = QUOTES.has(character) ? quoteEnd(text, at, unclosed) : -1;
    if (end > 0) {
      shown += '<value>';
      at = end;
    } else if (isBlank(character)) {
      if (!shown.endsWith(' ')) shown += ' ';
      at++;
    } else if (isOfToken(text.charCodeAt(at))) {
      const runEnd = endOfRun(text, at);
      const tokenEnd = endOfToken(text, at, runEnd);
      shown += placeholderIn(text.slice(at, tokenEnd)) + text.slice(tokenEnd, runEnd);
      at = runEnd;
    } else {
      shown += character;
      at++;
    }
  }
  return cut(shown.trim());
}

/**
 * The position after the closing quote; −1: the quote opens nothing, such as an apostrophe.
 *
 * @param unclosed quotes that are not closed in the rest of the text
 */
function quoteEnd(text: string, start: number, unclosed: Set<string>): number {
  const quote = text[start] as string;
  if (unclosed.has(quote) || isWord(text.charCodeAt(start - 1))) return -1;
  for (let at = text.indexOf(quote, start + 1); at >= 0; at = text.indexOf(quote, at + 1)) {
    if (!isWord(text.charCodeAt(at + 1)) && text[at - 1] !== '\\') return at + 1;
  }
  unclosed.add(quote);
  return -1;
}

function endOfRun(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isOfToken(text.charCodeAt(end))) end++;
  return end;
}

/** Punctuation at the end of a sentence is not part of a token. */
function endOfToken(text: string, start: number, runEnd: number): number {
  let end = runEnd;
  while (end > start + 1 && '.,:;!?'.includes(text[end - 1] as string)) end--;
  return end;
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\t' || character === '\r';
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const WORD_CODES = Uint8Array.from(ASCII, (character) => Number(/\w/.test(character)));
const TOKEN_CODES = Uint8Array.from(ASCII, (character) => Number(/[\w.:/\\@+\-%~=&?#$]/.test(character)));

/** Letters, digits, and all characters beyond ASCII. @param code `NaN`: there is no character */
function isWord(code: number): boolean {
  return code > 127 || WORD_CODES[code] === 1;
}

function isOfToken(code: number): boolean {
  return code > 127 || TOKEN_CODES[code] === 1;
}

/** Never splits a character. */
function cut(text: string): string {
  if (text.length <= LONGEST) return text;
  const last = text.charCodeAt(LONGEST - 2);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? LONGEST - 2 : LONGEST - 1)}…`;
}

const NUMBER = '<number>';
const ID = '<id>';
const ADDRESS = '<address>';

// Every pattern is linear, or applied to short tokens only.
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
/** Most tokens are words, which contain nothing to replace. */
const WORD = /^[A-Za-z]{1,15}$/;
const HEX_ADDRESS = /^0x[0-9a-f]+$/i;
const ONLY_NUMBERS = /^[+-]?\d[\d.,:/+_-]*[%Z]?$/;
const MOMENT = /^\d{4}-\d\d-\d\dT[\d:.+-]+Z?$/;
const IPV4 = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d+|\/\d+)?$/;
const IPV6 = /^[0-9a-f]{0,4}:[0-9a-f:.]*:[0-9a-f.]*$/i;
const HOST_AND_PORT = /^[a-z][\w-]*(?:\.[\w-]+)*:\d{2,5}$/i;
const WORDS = /[A-Za-z0-9\u0080-\uffff]+/g;
const CHUNKS = /[\w-]+/g;
const DIGITS = /\d+/g;

/** Longest address, with its port and its zone, in characters. */
const LONGEST_IPV6 = 64;
/** Longest token that is examined: a longer text without spaces is not a sentence. */
const LONGEST_TOKEN = 512;

/** @returns the token, a part of a text without blanks, quotes and brackets, with placeholders */
function placeholderIn(token: string): string {
  if (WORD.test(token)) return token;
  if (token.length > LONGEST_TOKEN) return ID;
  if (isAddress(token)) return ADDRESS;
  if (ONLY_NUMBERS.test(token) || MOMENT.test(token)) return NUMBER;
  if (digitsIn(token) === 0 && token.length < SHORTEST_HEX) return token;
  return token
    .replace(UUID, '\0')
    .replace(CHUNKS, (chunk) => (isRandom(chunk) ? '\0' : chunk.replace(WORDS, wordOf)))
    .replaceAll('\0', ID);
}

/** A URL, an e-mail address, an address of a host, or an address in memory. */
function isAddress(token: string): boolean {
  if (token.includes('://')) return true;
  const at = token.indexOf('@');
  if (at > 0 && at < token.length - 1) return true;
  if (HEX_ADDRESS.test(token) || IPV4.test(token) || HOST_AND_PORT.test(token)) return true;
  // A time of day also has two colons.
  return token.length <= LONGEST_IPV6 && IPV6.test(token) && (token.includes('::') || /[a-f]/i.test(token));
}

/** Minimum length of a random text, and of hexadecimal letters without a digit. */
const SHORTEST_RANDOM = 16;
const SHORTEST_HEX = 16;

/** A long text of capital letters, small letters and many digits. */
function isRandom(chunk: string): boolean {
  if (chunk.length < SHORTEST_RANDOM || !/[a-z]/.test(chunk) || !/[A-Z]/.test(chunk)) return false;
  return digitsIn(chunk) * 8 >= chunk.length;
}

function wordOf(word: string): string {
  const digits = digitsIn(word);
  if (digits === word.length) return NUMBER;
  const isHex = /^[0-9a-f]+$/i.test(word);
  if (isHex && word.length >= (digits > 0 ? 8 : SHORTEST_HEX)) return '\0';
  if (digits === 0) return word;
  return word.length >= 6 && changesIn(word) >= 3 ? '\0' : word.replace(DIGITS, NUMBER);
}

/** Number of changes between letters and digits. */
function changesIn(word: string): number {
  let changes = 0;
  for (let at = 1; at < word.length; at++) if (isDigit(word, at) !== isDigit(word, at - 1)) changes++;
  return changes;
}

function digitsIn(text: string): number {
  let digits = 0;
  for (let at = 0; at < text.length; at++) if (isDigit(text, at)) digits++;
  return digits;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}
