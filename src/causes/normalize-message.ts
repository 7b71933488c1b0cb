/**
 * Replaces the parts that differ between failures with the same cause: numbers, ids, addresses and quoted values. Each
 * character of any text is read a bounded number of times.
 */
import { placeholderIn } from './placeholders.ts';

/** Longest result, in characters. */
const LONGEST = 240;
const QUOTES = new Set(["'", '"', '`']);

/** @param text some thousand characters at most */
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
