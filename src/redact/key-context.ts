/** Decides by what stands before a key how its value is written. */
import { isKeyCode, isQuoteCode } from './units.ts';
import { backslashesBefore } from './value-end.ts';

const NAME = /(?:name|key|id)$/i;
const NAME_OF_VALUE = /(?:name|key|id)$|^(?:header|field|variable|param|parameter|k)$/i;

/** The name of the member whose value begins at an index: `name` in `"name": "password"` and `name=password`, or `''`. */
function memberName(text: string, start: number): string {
  let at = start;
  if (isQuoteCode(text.charCodeAt(at - 1))) at = backslashesBefore(text, at - 1);
  const prefix = text.charCodeAt(at - 1);
  if (prefix === 98 || prefix === 117) at--;
  at = blanksBefore(text, at);
  const separator = text.charCodeAt(at - 1);
  if (separator !== 58 && separator !== 61) return '';
  at = blanksBefore(text, at - 1);
  if (isQuoteCode(text.charCodeAt(at - 1))) at = backslashesBefore(text, at - 1);
  let first = at;
  while (first > at - 16 && isKeyCode(text.charCodeAt(first - 1))) first--;
  return text.slice(first, at);
}

function blanksBefore(text: string, at: number): number {
  let first = at;
  while (first > at - 64 && text.charCodeAt(first - 1) === 32) first--;
  return first;
}

/** Whether a key is the value of an attribute that names its element: `name="password"`. */
export function isNamedAttribute(text: string, start: number): boolean {
  const isAttribute = text.charCodeAt(backslashesBefore(text, start - 1) - 1) === 61;
  return isAttribute && NAME.test(memberName(text, start));
}

/** Whether the key is the value of a member that names another: `{'name': 'token', 'value': 'abc'}`. */
export function isNameOfValue(text: string, start: number): boolean {
  const name = memberName(text, start);
  return name !== '' && NAME_OF_VALUE.test(name);
}

/** Whether a quoted key is the first item of a list or a tuple. */
export function opensPair(text: string, start: number): boolean {
  if (!isQuoteCode(text.charCodeAt(start - 1))) return false;
  const quote = backslashesBefore(text, start - 1);
  return /[([][bBuU]?$/.test(text.slice(Math.max(0, quote - 2), quote));
}

const CALL =
  /(?:set|put|add|define|append|config|attr|header|env|update|insert|store|save|write)\w{0,24}\($/i;

/** Whether a quoted key is an argument of a call that sets a value: `setattr(self, 'password', …)`. */
export function isArgument(text: string, start: number): boolean {
  const previous = text.charCodeAt(backslashesBefore(text, start - 1) - 1);
  if (previous === 58 || previous === 61) return false;
  for (let at = start - 1; at > start - 64 && at > 0; at--) {
    const code = text.charCodeAt(at);
    if (code === 40) return CALL.test(text.slice(Math.max(0, at - 40), at + 1));
    if (code === 41 || code === 10 || code === 93) return false;
  }
  return false;
}

/** Whether a tag's name begins at an index, perhaps after a namespace: `<password`, `<wsse:Password`. */
export function opensElement(text: string, start: number): boolean {
  let at = start;
  if (text.charCodeAt(at - 1) === 58) {
    at--;
    while (at > start - 64 && isKeyCode(text.charCodeAt(at - 1))) at--;
  }
  return text.charCodeAt(at - 1) === 60 || (text.charCodeAt(at - 1) === 59 && text.endsWith('&lt;', at));
}
