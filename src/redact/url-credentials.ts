/** Finds user and password in URLs. */
import { afterBackslashes, mayBeEntity, unitAt } from './units.ts';

/** A part of a text that is a secret. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Whether the text is truncated at this index. */
export function isCutAt(text: string, end: number, isCut: boolean): boolean {
  if (end >= text.length && isCut) return true;
  if (end < text.length) {
    const next = text.charCodeAt(end);
    if (next === 0x2026 || (next === 46 && text.startsWith('...', end))) return true;
  }
  return dotsBefore(text, end) > 0;
}

/** Number of characters of the dots directly before an index that show that a text was cut there. */
function dotsBefore(text: string, end: number): number {
  const last = end > 0 ? text.charCodeAt(end - 1) : 0;
  if (last === 0x2026) return 1;
  return last === 46 && text.endsWith('...', end) ? 3 : 0;
}

/** User and password of a URL, also when the text ends within them. */
export function urlCredentials(text: string, start: number, isCut: boolean): Span | null {
  const end = regionEnd(text, start);
  if (end === start) return null;
  const region = text.slice(start, end);
  const length = credentialsLength(region);
  // In a truncated URL the rest may be a password, even after an `@`.
  if (length < region.length && pathStart(region, length) === region.length && isCutAt(text, end, isCut)) {
    return { start, end: end - dotsBefore(text, end) };
  }
  return length > 0 ? { start, end: start + length } : null;
}

/** Index at which a URL ends at the latest: a blank, a quote, or the next URL. */
function regionEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Letters, which most of it consists of.
    if (code > 96 && code < 0xa0) continue;
    if (code <= 32 || code === 34 || code === 39 || code === 96 || code === 0xa0 || code === 0x2028)
      return at;
    if (code !== 92 && code !== 38 && code !== 58) continue;
    const next = text.charCodeAt(at + 1);
    if (code === 92 && (next === 110 || next === 114 || next === 116 || next === 34 || next === 39))
      return at;
    if (code === 38 && mayBeEntity(text, at) && unitAt(text, at).end > at + 1) return at;
    if (code === 58 && (next === 47 || next === 92) && beginsUrl(text, at + 1)) return at;
  }
  return text.length;
}

/** Whether the two slashes of a URL are at an index. In JSON they may be escaped. */
function beginsUrl(text: string, at: number): boolean {
  const first = afterBackslashes(text, at);
  return text.charCodeAt(first) === 47 && text.charCodeAt(afterBackslashes(text, first + 1)) === 47;
}

/** Index of the first `/`, `?` or `#`, or the length. */
function pathStart(address: string, from: number): number {
  for (let at = from; at < address.length; at++) {
    const code = address.charCodeAt(at);
    if (code === 47 || code === 63 || code === 35) return at;
  }
  return address.length;
}

/**
 * Length of user and password in a URL without its scheme, not counting the `@` after them; 0 for none. RFC
 * 3986 puts them before the last `@` of the authority, but passwords that should have been encoded may
 * contain `/` and `@`: if a colon is not followed by a port, the last `@` of the whole URL counts. If there
 * is none, the URL was truncated and all of it is masked, because what looks like a path may be the password.
 */
export function credentialsLength(address: string): number {
  const authority = pathStart(address, 0);
  const at = authority === 0 ? -1 : address.lastIndexOf('@', authority - 1);
  const colon = address.indexOf(':');
  const isPlain = at === -1 ? !hasPassword(address, authority) : colon === -1 || colon > at;
  if (isPlain) return Math.max(0, at);
  const last = address.lastIndexOf('@');
  return last === -1 ? address.length : last;
}

/** Whether a colon in a list of hosts is followed by anything but a port. */
function hasPassword(address: string, end: number): boolean {
  const colon = address.indexOf(':');
  if (colon === -1 || colon >= end) return false;
  if (colon === 0) return true;
  let host = 0;
  for (let at = 0; at < end; at++) {
    const code = address.charCodeAt(at);
    if (code === 44 || code === 59) host = at + 1;
    else if (code === 91 && at === host) at = afterAddress(address, at);
    else if (code === 58) {
      if (isLetter(address.charCodeAt(at + 1))) return true;
      PORT.lastIndex = at + 1;
      if (!PORT.test(address)) return true;
      at = PORT.lastIndex - 1;
    }
  }
  return false;
}

const isLetter = (code: number): boolean => (code | 32) >= 97 && (code | 32) <= 122;

/** A port or a mask, what may follow it in a sentence, and the next host. */
const PORT = /(?:\d*|\*{3})[)>\]}.:!]*\\*(?=[,;/?#]|$)/y;
const IPV6 = /\[[\da-f:.]*\]/iy;

/** Index of the last character of an address in brackets. */
function afterAddress(address: string, at: number): number {
  IPV6.lastIndex = at;
  return IPV6.test(address) ? IPV6.lastIndex - 1 : at;
}

const ENCODED_AUTHORITY = /(?:(?!%(?:25)*(?:2f|3f|23|26|22|27))[^\s"'`&<>/?#]){1,2048}/iy;
const ENCODED_AT = /.*%(?:25)*40/iy;

/**
 * Like {@link urlCredentials}, for a percent-encoded URL inside another:
 * `next=https%3A%2F%2Fuser%3Apassword%40host`.
 */
export function encodedCredentials(text: string, start: number, isCut: boolean): Span | null {
  ENCODED_AUTHORITY.lastIndex = start;
  const authority = ENCODED_AUTHORITY.exec(text)?.[0] ?? '';
  ENCODED_AT.lastIndex = 0;
  const before = /%(?:25)*40$/i;
  const upTo = ENCODED_AT.exec(authority)?.[0].replace(before, '') ?? '';
  const end = start + (isCutAt(text, start + authority.length, isCut) ? authority.length : upTo.length);
  return end > start ? { start, end } : null;
}

/** User and password for Oracle's driver: `jdbc:oracle:thin:scott/tiger@//host`. */
export function oracleCredentials(text: string, start: number, isCut: boolean): Span | null {
  const end = regionEnd(text, start);
  const region = text.slice(start, end);
  const at = region.lastIndexOf('@');
  const from = start + region.indexOf(':') + 1;
  const slash = region.indexOf('/');
  if (slash === -1 || (at !== -1 && slash > at)) {
    return at === -1 && isCutAt(text, end, isCut) && end > from ? { start: from, end } : null;
  }
  const until = at === -1 ? end - dotsBefore(text, end) : start + at;
  return until > from ? { start: from, end: until } : null;
}
