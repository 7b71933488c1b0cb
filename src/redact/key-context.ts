/** Determines from the text before a key how its value is written. */
import { backslashesBefore, codeAt, isKeyCode, isQuoteCode, marksOf, skipBlanks } from './units.ts';
import { type Delimiter, endsItem } from './value-end.ts';

const NAME = /(?:name|key|id)$/i;
const NAME_OF_VALUE = /(?:name|key|id)$|^(?:header|field|variable|param|parameter|k)$/i;

/** The name of the member whose value begins at an index, or `''`: `name` in `"name": "password"`, `name=password`. */
function memberName(text: string, start: number): string {
  let at = start;
  if (isQuoteCode(codeAt(text, at - 1))) at = backslashesBefore(text, at - 1);
  const prefix = codeAt(text, at - 1);
  if (prefix === 98 || prefix === 117) at--;
  at = blanksBefore(text, at);
  const separator = codeAt(text, at - 1);
  if (separator !== 58 && separator !== 61) return '';
  at = blanksBefore(text, at - 1);
  if (isQuoteCode(codeAt(text, at - 1))) at = backslashesBefore(text, at - 1);
  let first = at;
  while (first > at - 16 && isKeyCode(codeAt(text, first - 1))) first--;
  return text.slice(first, at);
}

function blanksBefore(text: string, at: number): number {
  let first = at;
  while (first > at - 64 && codeAt(text, first - 1) === 32) first--;
  return first;
}

/** Whether a key is the value of an attribute that names its element: `name="password"`. */
export function isNamedAttribute(text: string, start: number): boolean {
  const isAttribute = codeAt(text, backslashesBefore(text, start - 1) - 1) === 61;
  return isAttribute && NAME.test(memberName(text, start));
}

/** Whether the key is the value of a member that names another: `{'name': 'token', 'value': 'abc'}`. */
export function isNameOfValue(text: string, start: number): boolean {
  const name = memberName(text, start);
  return name !== '' && NAME_OF_VALUE.test(name);
}

/** Whether a quoted key is the first item of a list or a tuple. */
export function opensPair(text: string, start: number): boolean {
  if (!isQuoteCode(codeAt(text, start - 1))) return false;
  const quote = backslashesBefore(text, start - 1);
  const prefix = codeAt(text, quote - 1) | 32;
  const bracket = codeAt(text, prefix === 98 || prefix === 117 ? quote - 2 : quote - 1);
  return bracket === 40 || bracket === 91;
}

const CALL =
  /(?:set|put|add|define|append|config|attr|header|env|update|insert|store|save|write)\w{0,24}\($/i;

/** Whether a quoted key is an argument of a call that sets a value: `setattr(self, 'password', …)`. */
export function isArgument(text: string, start: number): boolean {
  const previous = codeAt(text, backslashesBefore(text, start - 1) - 1);
  if (previous === 58 || previous === 61) return false;
  for (let at = start - 1; at > start - 64 && at > 0; at--) {
    const code = codeAt(text, at);
    if (code === 40) return CALL.test(text.slice(Math.max(0, at - 40), at + 1));
    if (code === 41 || code === 10 || code === 93) return false;
  }
  return false;
}

/** Whether a tag's name begins at an index, perhaps after a namespace: `<password`, `<wsse:Password`. */
export function opensElement(text: string, start: number): boolean {
  let at = start;
  if (codeAt(text, at - 1) === 58) {
    at--;
    while (at > start - 64 && isKeyCode(codeAt(text, at - 1))) at--;
  }
  return codeAt(text, at - 1) === 60 || (codeAt(text, at - 1) === 59 && text.endsWith('&lt;', at));
}

const OUTER_BEHIND =
  /\s{0,8}(?:$|[\r\n}\])]{1,8}(?:$|[\s,"'\\})\]])|,\s{0,8}(?:[bu]?\\*["']|[\d[{(}\])-]|\w{1,64}=|None|null|[Tt]rue|[Ff]alse))/y;
const MAY_BE_OUTER = marksOf(' \t\v\f\r\n}]),');
const OUTER_BEFORE = /(?:^|[\s,:=([{][bBuUrRfF]{0,2})$/;
const LOOK_BACK = 128;

/**
 * Whether the quotes after a key end the string that contains the key and do not begin its value. This is the case
 * if text that can follow a string comes after them, and the same quotes before the key begin a string.
 */
export function closesOuter(
  text: string,
  keyStart: number,
  { quote, backslashes, end, notation }: Delimiter,
): boolean {
  const next = codeAt(text, end);
  if (next < 128 && MAY_BE_OUTER[next] !== 1) return false;
  OUTER_BEHIND.lastIndex = end;
  if (notation !== null || !OUTER_BEHIND.test(text)) return false;
  for (let at = keyStart; at >= 0 && at > keyStart - LOOK_BACK; at--) {
    if (codeAt(text, at) !== quote) continue;
    const first = backslashesBefore(text, at);
    if (at - first > backslashes) continue;
    if (at - first < backslashes) return false;
    return (
      OUTER_BEFORE.test(text.slice(Math.max(0, first - 4), first)) &&
      !endsItem(codeAt(text, skipBlanks(text, at + 1)))
    );
  }
  return false;
}
