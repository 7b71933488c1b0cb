/** Finds user and password in URLs. */

/** A part of a text that is a secret. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** User and password of a URL, also when the text ends within them. */
export function urlCredentials(text: string, start: number, isCut: boolean): Span | null {
  const end = regionEnd(text, start);
  const region = text.slice(start, end);
  const length = credentialsLength(region);
  // In a truncated URL the rest may be a password, even after an `@`.
  if (length < region.length && !/[/?#]/.test(region.slice(length)) && isCutAt(text, end, isCut)) {
    return { start, end: end - (/(?:\.{3}|…)$/.exec(region)?.[0].length ?? 0) };
  }
  return length > 0 ? { start, end: start + length } : null;
}

const ENCODED_AUTHORITY = /(?:(?!%2f|%3f|%23)[^\s"'`&<>/?#]){1,2048}/iy;

/**
 * Like {@link urlCredentials}, for a percent-encoded URL inside another:
 * `next=https%3A%2F%2Fuser%3Apassword%40host`.
 */
export function encodedCredentials(text: string, start: number, isCut: boolean): Span | null {
  ENCODED_AUTHORITY.lastIndex = start;
  const authority = ENCODED_AUTHORITY.exec(text)?.[0] ?? '';
  const at = authority.lastIndexOf('%40');
  const end = start + (isCutAt(text, start + authority.length, isCut) ? authority.length : Math.max(0, at));
  return end > start ? { start, end } : null;
}

/**
 * Length of user and password in a URL without its scheme, not counting the `@` after them; 0 for none. RFC
 * 3986 puts them before the last `@` of the authority, but passwords that should have been encoded may
 * contain `/` and `@`: if a colon is not followed by a port, the last `@` of the whole URL counts. If there
 * is none, the URL was truncated and all of it is masked, because what looks like a path may be the password.
 */
export function credentialsLength(address: string): number {
  const authority = address.slice(0, /[/?#]/.exec(address)?.index);
  const at = authority.lastIndexOf('@');
  const isPlain = at === -1 ? !hasPassword(authority) : !authority.slice(0, at).includes(':');
  if (isPlain) return Math.max(0, at);
  const last = address.lastIndexOf('@');
  return last === -1 ? address.length : last;
}

const REGION_END = /[\s"'`]|\\[nrt"'`]|:(?:\\*\/){2}/g;

/** Index at which a URL ends at the latest: a blank, a quote, or the next URL. */
function regionEnd(text: string, start: number): number {
  REGION_END.lastIndex = start;
  return REGION_END.exec(text)?.index ?? text.length;
}

/** Whether a colon in a list of hosts is followed by anything but a port. */
function hasPassword(authority: string): boolean {
  if (authority.startsWith(':')) return true;
  const hosts = authority.replace(/\[[\da-f:.]*\]/gi, '').replace(/\\+$/, '');
  return hosts.split(/[,;]/).some(isHostWithPassword);
}

function isHostWithPassword(host: string): boolean {
  const colon = host.indexOf(':');
  return colon !== -1 && !/^\d*[)>\]}.:!]*$/.test(host.slice(colon + 1));
}

/** Whether the text is truncated at this index. */
export function isCutAt(text: string, end: number, isCut: boolean): boolean {
  if (end >= text.length) return isCut || /(?:\.{3}|…)$/.test(text);
  return text[end] === '…' || text.startsWith('...', end) || text.slice(end - 3, end) === '...';
}
