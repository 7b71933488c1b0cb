/** User and password within URLs. */

/** Part of a text that is a secret. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** User and password of a URL, or what may be the beginning of them. */
export function urlCredentials(text: string, start: number, isCut: boolean): Span | null {
  const end = regionEnd(text, start);
  const region = text.slice(start, end);
  const length = credentialsLength(region);
  // What is left of one that was cut may be a password, also behind an @.
  if (length < region.length && !/[/?#]/.test(region.slice(length)) && isCutAt(text, end, isCut)) {
    return { start, end: end - (/(?:\.{3}|…)$/.exec(region)?.[0].length ?? 0) };
  }
  return length > 0 ? { start, end: start + length } : null;
}

const ENCODED_AUTHORITY = /(?:(?!%2f|%3f|%23)[^\s"'`&<>/?#]){1,2048}/iy;

/** The same of a URL that is percent-encoded to stand in another: `next=https%3A%2F%2Fuser%3Apassword%40host`. */
export function encodedCredentials(text: string, start: number, isCut: boolean): Span | null {
  ENCODED_AUTHORITY.lastIndex = start;
  const authority = ENCODED_AUTHORITY.exec(text)?.[0] ?? '';
  const at = authority.lastIndexOf('%40');
  const end = start + (isCutAt(text, start + authority.length, isCut) ? authority.length : Math.max(0, at));
  return end > start ? { start, end } : null;
}

/**
 * How much of a URL, behind its scheme, is user and password, the `@` behind them left out; 0 for none.
 * RFC 3986 puts them before the last `@` of what stands before the path, but passwords that should have been
 * encoded may hold `/` and `@`: where a colon has no port behind it, the last `@` of all counts. Where there
 * is none, the URL was cut, and all of it is hidden: what looks like a path may be the password.
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

/** Where a URL must have ended: at a blank, a quote, or the next URL. */
function regionEnd(text: string, start: number): number {
  REGION_END.lastIndex = start;
  return REGION_END.exec(text)?.index ?? text.length;
}

/** Whether a colon in a list of hosts has anything but a port behind it. */
function hasPassword(authority: string): boolean {
  if (authority.startsWith(':')) return true;
  const hosts = authority.replace(/\[[\da-f:.]*\]/gi, '').replace(/\\+$/, '');
  return hosts.split(/[,;]/).some(isHostWithPassword);
}

function isHostWithPassword(host: string): boolean {
  const colon = host.indexOf(':');
  return colon !== -1 && !/^\d*[)>\]}.:!]*$/.test(host.slice(colon + 1));
}

/** Whether a text breaks off at a place. */
export function isCutAt(text: string, end: number, isCut: boolean): boolean {
  if (end >= text.length) return isCut || /(?:\.{3}|…)$/.test(text);
  return text[end] === '…' || text.startsWith('...', end) || text.slice(end - 3, end) === '...';
}
