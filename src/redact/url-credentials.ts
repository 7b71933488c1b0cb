/** Finds user and password in URLs. */
import { afterBackslashes, codeAt, marksOf, mayBeEntity, unitAt } from './units.ts';

/** A part of a text that is a secret. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Whether the text is truncated at this index. */
export function isCutAt(text: string, end: number, isCut: boolean): boolean {
  if (end >= text.length && isCut) return true;
  if (end < text.length) {
    const next = codeAt(text, end);
    if (next === 0x2026 || (next === 46 && text.startsWith('...', end))) return true;
  }
  return dotsBefore(text, end) > 0;
}

/** Number of characters of the dots directly before an index that mark a truncated text. */
function dotsBefore(text: string, end: number): number {
  const last = codeAt(text, end - 1);
  if (last === 0x2026) return 1;
  return last === 46 && text.endsWith('...', end) ? 3 : 0;
}

/** User and password of a URL, even if the text ends within them. */
export function urlCredentials(text: string, start: number, isCut: boolean): Span | null {
  const end = regionEnd(text, start);
  const until = credentialsEnd(text, start, end);
  // In a truncated URL the rest may be a password, even after an `@`.
  if (until < end && isCutAt(text, end, isCut) && pathStart(text, until, end) === end) {
    return { start, end: end - dotsBefore(text, end) };
  }
  return until > start ? { start, end: until } : null;
}

/** Index at which a URL ends at the latest: a blank, a quote, or the next URL. */
function regionEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = codeAt(text, at);
    // Letters, the most frequent characters.
    if (code > 96 && code < 0xa0) continue;
    if (code <= 32 || code === 34 || code === 39 || code === 96 || code === 0xa0 || code === 0x2028)
      return at;
    if (code !== 92 && code !== 38 && code !== 58) continue;
    const next = codeAt(text, at + 1);
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
  return codeAt(text, first) === 47 && codeAt(text, afterBackslashes(text, first + 1)) === 47;
}

/** Index of the first `/`, `?` or `#` of a URL, or its end. */
function pathStart(text: string, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const code = codeAt(text, at);
    if (code === 47 || code === 63 || code === 35) return at;
  }
  return end;
}

/**
 * Length of user and password in a URL without its scheme, not counting the `@` after them; 0 for none. RFC
 * 3986 puts them before the last `@` of the authority, but passwords that should have been encoded may
 * contain `/` and `@`: if a colon is not followed by a port, the last `@` of the whole URL counts. If there
 * is none, the URL was truncated and all of it is masked, because what looks like a path may be the password.
 */
export function credentialsLength(address: string): number {
  return credentialsEnd(address, 0, address.length);
}

/** The same for a URL within a text: index at which its credentials end. */
function credentialsEnd(text: string, start: number, end: number): number {
  const path = pathStart(text, start, end);
  const at = lastAt(text, start, path);
  const isPlain = at === -1 ? !hasPassword(text, start, path, end) : !hasColon(text, start, at);
  if (isPlain) return Math.max(start, at);
  const last = lastAt(text, start, end);
  return last === -1 ? end : last;
}

/** Index of the last `@` between two indexes; -1 when there is none. */
function lastAt(text: string, start: number, end: number): number {
  let at = end - 1;
  while (at >= start && codeAt(text, at) !== 64) at--;
  return at < start ? -1 : at;
}

function hasColon(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (codeAt(text, at) === 58) return true;
  return false;
}

/** Whether a colon in a list of hosts is followed by anything but a port. */
function hasPassword(text: string, start: number, path: number, end: number): boolean {
  let host = start;
  for (let at = start; at < path; at++) {
    const code = codeAt(text, at);
    if (code === 44 || code === 59) host = at + 1;
    else if (code === 91 && at === host) at = afterAddress(text, at);
    else if (code === 58) {
      const port = at === start ? -1 : portEnd(text, at + 1, end);
      if (port === -1) return true;
      at = port - 1;
    }
  }
  return false;
}

/** Characters between a port and the end of a sentence. */
const BEHIND_PORT = marksOf(')>]}.:!');

/** Index after a port or a mask, and after punctuation that follows it; -1 when there is neither. */
function portEnd(text: string, start: number, end: number): number {
  let at = start;
  while (isDigit(codeAt(text, at))) at++;
  if (at === start && text.startsWith('***', at)) at += 3;
  while (BEHIND_PORT[codeAt(text, at)] === 1) at++;
  at = Math.min(end, afterBackslashes(text, at));
  const next = codeAt(text, at);
  return at === end || next === 44 || next === 59 || next === 47 || next === 63 || next === 35 ? at : -1;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

const IPV6 = /\[[\da-f:.]*\]/iy;

/** Index of the last character of an address in brackets. */
function afterAddress(text: string, at: number): number {
  IPV6.lastIndex = at;
  return IPV6.test(text) ? IPV6.lastIndex - 1 : at;
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
