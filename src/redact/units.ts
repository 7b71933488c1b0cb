/**
 * Reads one character of a text, however it is escaped: `"`, `\"`, `\u0022`, `%22`, `%2522`, `&quot;`. Texts contain
 * texts in other notations, so a quote or a colon after a key may have any of these forms.
 */

/** One character and the index after its notation. */
export interface Unit {
  readonly code: number;
  readonly end: number;
}

export const BACKSLASH = 92;

/** The code before the start and after the end of a text. No character has this code. */
export const NO_CODE = 0x10000;

/** The code of the character at an index. After one read out of bounds, `charCodeAt` stays slow. */
export function codeAt(text: string, at: number): number {
  return at >= 0 && at < text.length ? text.charCodeAt(at) : NO_CODE;
}
const ENTITY = /&(?:amp;)*(?:#(\d{2,3})|#x([\da-f]{2})|(quot|apos|lt|gt|nbsp));/iy;
const ENTITIES: Readonly<Record<string, number>> = { quot: 34, apos: 39, lt: 60, gt: 62, nbsp: 32 };

/** A table that marks some ASCII characters: it makes most decisions without a pattern. */
export const marksOf = (characters: string): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, code) => Number(characters.includes(String.fromCharCode(code))));

/** The value of each hexadecimal digit of ASCII; -1 for other characters. */
const HEX = Int8Array.from({ length: 128 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase()),
);

export function isHex(code: number): boolean {
  return code < 128 && HEX[code] !== -1;
}

/** The value of the hexadecimal digits at an index; -1 if there are fewer. */
function hexNumber(text: string, at: number, digits: number): number {
  let number = 0;
  for (let index = at; index < at + digits; index++) {
    const code = codeAt(text, index);
    if (!isHex(code)) return -1;
    number = 16 * number + (HEX[code] as number);
  }
  return number;
}

/** Reads the character at an index. Past the end of the text its code is {@link NO_CODE}. */
export function unitAt(text: string, at: number): Unit {
  const code = codeAt(text, at);
  if (code === BACKSLASH) return backslashUnit(text, at);
  if (code === 38 && mayBeEntity(text, at)) return entityUnit(text, at);
  return code === 37 ? percentUnit(text, at) : { code, end: at + 1 };
}

/** A character that is percent-encoded any number of times: `%22`, `%2522`. */
function percentUnit(text: string, at: number): Unit {
  let digits = at + 1;
  while (text.startsWith('25', digits) && hexNumber(text, digits + 2, 2) !== -1) digits += 2;
  const code = hexNumber(text, digits, 2);
  return code === -1 ? { code: 37, end: at + 1 } : { code, end: digits + 2 };
}

/** Whether an entity such as `&quot;` may begin at an index. */
export function mayBeEntity(text: string, at: number): boolean {
  const next = codeAt(text, at + 1);
  return next === 35 || next === 97 || next === 113 || next === 103 || next === 108 || next === 110;
}

function entityUnit(text: string, at: number): Unit {
  // The most frequent entity.
  if (text.startsWith('quot;', at + 1)) return { code: 34, end: at + 6 };
  ENTITY.lastIndex = at;
  const entity = ENTITY.exec(text);
  if (entity === null) return { code: 38, end: at + 1 };
  const [, decimal, hex, name = ''] = entity;
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return { code: Number.isNaN(code) ? (ENTITIES[name.toLowerCase()] ?? 38) : code, end: ENTITY.lastIndex };
}

/** Any number of backslashes and what they escape. A backslash that escapes nothing is a character itself. */
function backslashUnit(text: string, at: number): Unit {
  const behind = afterBackslashes(text, at);
  const code = codeAt(text, behind);
  if (isQuoteCode(code) || code === 47) return { code, end: behind + 1 };
  if (code === 110) return { code: 10, end: behind + 1 };
  if (code === 114) return { code: 13, end: behind + 1 };
  if (code === 116) return { code: 9, end: behind + 1 };
  return escapedUnit(text, behind) ?? { code: BACKSLASH, end: at + 1 };
}

/** The character that `u0070` or `x70` at an index denotes; `null` when there is none. */
export function escapedUnit(text: string, at: number): Unit | null {
  const kind = codeAt(text, at);
  const digits = kind === 117 ? 4 : kind === 120 ? 2 : 0;
  const code = digits === 0 ? -1 : hexNumber(text, at + 1, digits);
  return code === -1 ? null : { code, end: at + 1 + digits };
}

/** Whether a letter after a backslash denotes a control character: `\n`, `\t`. */
export function isControlLetter(code: number): boolean {
  return code === 110 || code === 114 || code === 116 || code === 98 || code === 102;
}

/** Index after the backslashes at an index. */
export function afterBackslashes(text: string, at: number): number {
  let behind = at;
  while (codeAt(text, behind) === BACKSLASH) behind++;
  return behind;
}

/** Index of the first of the backslashes directly before an index, not before `from`. */
export function backslashesBefore(text: string, at: number, from = 0): number {
  let first = at;
  while (first > from && codeAt(text, first - 1) === BACKSLASH) first--;
  return first;
}

/** Whether a character is a single quote, a double quote or a backtick. */
export function isQuoteCode(code: number): boolean {
  return code === 34 || code === 39 || code === 96;
}

/** Characters of ASCII that may be in a key: letters, digits, `_`, `-`, `$`. */
const ASCII_KEY = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\w$-]/.test(String.fromCharCode(code))),
);

/** Whether a character may be in a key. Beyond ASCII these are the letters and marks of all scripts. */
export function isKeyCode(code: number): boolean {
  if (code < 128) return ASCII_KEY[code] === 1;
  if (code < 0x2000) return code >= 0xc0 && code !== 0xd7 && code !== 0xf7;
  if (code < 0x2c00) return code === 0x200c || code === 0x200d;
  return (
    code > 0x3004 &&
    !(code >= 0x3008 && code <= 0x3020) &&
    !(code >= 0xd800 && code <= 0xfaff) &&
    code < 0xfe00
  );
}

/** Whether a character is a letter, a digit or `_`. */
export function isWordCode(code: number): boolean {
  if (code < 128) return isKeyCode(code) && code !== 36 && code !== 45;
  return /[\p{L}\p{N}]/u.test(String.fromCharCode(code));
}

/** A terminal colour after an escape character or its escaped form, or an escaped tab. */
const COLOUR = /(?:\\+(?:x1b|u001b|033|e))?\[[\d;]{0,16}m|\\+t/iy;

/** Index after the blanks and colours at an index. */
export function skipBlanks(text: string, at: number): number {
  for (let behind = at; ; ) {
    const code = codeAt(text, behind);
    if (code === 32 || code === 9 || code === 0xa0 || code === 0x3000) behind++;
    else if (code === 27 || code === BACKSLASH) {
      COLOUR.lastIndex = code === 27 ? behind + 1 : behind;
      if (!COLOUR.test(text)) return behind;
      behind = COLOUR.lastIndex;
    } else return behind;
  }
}

/** Index after a line break at an index, plain or escaped; -1 when there is none. */
export function afterBreak(text: string, at: number): number {
  const first = unitAt(text, at);
  if (first.code === 10) return first.end;
  if (first.code !== 13) return -1;
  const second = unitAt(text, first.end);
  return second.code === 10 ? second.end : first.end;
}

/** Index after blanks and line breaks, plain or escaped. */
export function skipSpace(text: string, at: number): number {
  for (let behind = skipBlanks(text, at); ; ) {
    const code = codeAt(text, behind);
    const next = code === 10 || code === 13 || code === BACKSLASH ? afterBreak(text, behind) : -1;
    if (next === -1) return behind;
    behind = skipBlanks(text, next);
  }
}
