/** Finds the bounds of a key in a text, and whether it names a secret. */
import { BACKSLASH, codeAt, escapedUnit, isControlLetter, isHex, isKeyCode, unitAt } from './units.ts';

const LONGEST_KEY = 128;
/** Index after the key that contains an index. Letters of a key may be escaped: `\u0070assword`. */
export function keyEnd(text: string, at: number): number {
  for (let end = at; ; ) {
    const code = codeAt(text, end);
    if (isKeyCode(code)) end++;
    else if (code === BACKSLASH) {
      const unit = unitAt(text, end);
      if (!isKeyCode(unit.code)) return end;
      end = unit.end;
    } else return end;
  }
}

/** Whether the character at an index, perhaps escaped, belongs to the key before it. */
export function continuesKey(text: string, at: number): boolean {
  const code = codeAt(text, at);
  return isKeyCode(code) || (code === BACKSLASH && isKeyCode(unitAt(text, at).code));
}

/** Index at which the key that contains an index begins. */
export function keyStart(text: string, at: number): number {
  const first = Math.max(0, at - LONGEST_KEY);
  let start = at;
  while (start > first) {
    const code = codeAt(text, start - 1);
    if (code === BACKSLASH) {
      const unit = escapedUnit(text, start);
      if (unit === null) return start;
      if (!isKeyCode(unit.code)) return unit.end;
      while (codeAt(text, start - 2) === BACKSLASH) start--;
    } else if (!isKeyCode(code)) return start;
    start--;
  }
  return start;
}

const COLOUR = /\d{0,3}m/y;

/** Number of characters at a key's start that may belong to an escape or a colour: `\nkey`, `%22key`, `[32mkey`. */
export function noiseAt(text: string, start: number): number {
  const previous = codeAt(text, start - 1);
  if (previous === BACKSLASH) return isControlLetter(codeAt(text, start)) ? 1 : 0;
  if (previous === 37) return unitAt(text, start - 1).end - start;
  if (previous !== 91 && previous !== 59) return 0;
  COLOUR.lastIndex = start;
  return COLOUR.test(text) ? COLOUR.lastIndex - start : 0;
}

/** Index at which a key with one more word begins: `API key: x`, `api.key=x`; -1 when there is none. */
export function widerStart(text: string, start: number): number {
  const previous = codeAt(text, start - 1);
  if ((previous !== 32 && previous !== 46) || !isKeyCode(codeAt(text, start - 2))) return -1;
  return keyStart(text, start - 1);
}

/** Whether a key ends in a word, in any case. */
export function endsIn(text: string, start: number, end: number, word: string): boolean {
  const first = end - word.length;
  if (first < start) return false;
  for (let at = end - 1; at >= first; at--) {
    if ((codeAt(text, at) | 32) !== word.charCodeAt(at - first)) return false;
  }
  return true;
}

const QUERY_SECRET = /(?:[?&;]|%(?:25)*(?:26|3f)|\\u0026)(?:sig|signature)$/i;

/** Whether a key is the signature in the query of a URL, which grants access. */
export function isSignatureInQuery(text: string, start: number, end: number): boolean {
  if (!endsIn(text, start, end, 'sig') && !endsIn(text, start, end, 'signature')) return false;
  // `?`, `&`, `;`, or the last digit of an encoded one.
  const before = codeAt(text, start - 1);
  if (before !== 63 && before !== 38 && before !== 59 && !isHex(before)) return false;
  return QUERY_SECRET.test(text.slice(Math.max(0, start - 8), end));
}
