/** Placeholders for numbers, ids and addresses in one token: a part of a text without blanks, quotes and brackets. */

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
const LONGEST = 512;

/** @returns the token with placeholders */
export function placeholderIn(token: string): string {
  if (WORD.test(token)) return token;
  if (token.length > LONGEST) return ID;
  if (isAddress(token)) return ADDRESS;
  if (ONLY_NUMBERS.test(token) || MOMENT.test(token)) return NUMBER;
  if (!isDigitIn(token) && token.length < SHORTEST_HEX) return token;
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

function isDigitIn(text: string): boolean {
  return digitsIn(text) > 0;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}
