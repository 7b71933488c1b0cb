/** Secrets that show by their form, whatever they are called: credentials in URLs, tokens, private keys. */

/** Part of a text that is a secret. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What leads to a secret of one of these forms, as the source of a pattern. */
export const SHAPE_STEMS =
  ':\\/\\/|(?<![a-z0-9])(?:bearer[ \\t]|basic[ \\t]|eyj|akia|asia|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|[sr]k[-_]|aiza)|-----begin ';

/**
 * The secret that a stem leads to; `null` when there is none.
 *
 * @param stem what {@link SHAPE_STEMS} matched
 * @param at where it begins
 * @param isCut whether the end of the text is missing
 */
export function shapeAt(text: string, stem: string, at: number, isCut: boolean): Span | null {
  const behind = at + stem.length;
  switch (stem.toLowerCase().replace(/[ \t]$/, '')) {
    case '://':
      return credentials(text, behind, isCut);
    case 'bearer':
      return schemeToken(text, behind, isBearer);
    case 'basic':
      return schemeToken(text, behind, isBasic);
    case '-----begin':
      return privateKey(text, at, behind);
    case 'eyj':
      return stem === 'eyJ' ? run(text, at, /[\w.+/=-]*/y, isCut, isJwt) : null;
    case 'akia':
    case 'asia':
      return stem === stem.toUpperCase() ? run(text, at, /\w*/y, isCut, isAccessKey) : null;
    case 'aiza':
      return stem === 'AIza' ? run(text, at, /[\w-]*/y, isCut, isLong) : null;
    default:
      return run(text, at, /[\w-]*/y, isCut, isLong);
  }
}

const isJwt = (token: string): boolean => token.length >= 16 && token.includes('.');
const isAccessKey = (token: string): boolean => token.length >= 20;
const isLong = (token: string): boolean => token.length >= 20;
/** `Bearer of`, `Bearer realm="x"` are no tokens. */
const isBearer = (token: string): boolean =>
  !/^(?:of|tokens?|auth|authentication|authorization|scheme|realm|error|scope)$/i.test(token);
/** `Basic authentication` is no token: base64 of a user and password has capitals or digits. */
const isBasic = (token: string): boolean => token.length >= 6 && /[A-Z0-9=]/.test(token.slice(1));

/** A run of characters that is a token; at the end of a cut text its beginning is enough. */
function run(
  text: string,
  start: number,
  characters: RegExp,
  isCut: boolean,
  isToken: (token: string) => boolean,
): Span | null {
  characters.lastIndex = start;
  const token = characters.exec(text)?.[0] ?? '';
  const end = start + token.length;
  return isToken(token) || isCutAt(text, end, isCut) ? { start, end } : null;
}

const SCHEME_TOKEN = /[ \t]*([\w.~+/=*-]*)/y;

function schemeToken(text: string, from: number, isToken: (token: string) => boolean): Span | null {
  SCHEME_TOKEN.lastIndex = from;
  const token = SCHEME_TOKEN.exec(text)?.[1] ?? '';
  if (token === '' || !isToken(token)) return null;
  return { start: SCHEME_TOKEN.lastIndex - token.length, end: SCHEME_TOKEN.lastIndex };
}

function privateKey(text: string, start: number, from: number): Span | null {
  const label = text.slice(from, from + 40);
  if (!/^[A-Z0-9 ]*PRIVATE KEY/i.test(label)) return null;
  const end = text.indexOf('-----END', from);
  if (end === -1) return { start, end: text.length };
  const close = text.indexOf('-----', end + 8);
  return { start, end: close === -1 ? text.length : close + 5 };
}

/** User and password of a URL, or what may be the beginning of them. */
function credentials(text: string, start: number, isCut: boolean): Span | null {
  const end = regionEnd(text, start);
  const region = text.slice(start, end);
  const length = credentialsLength(region);
  if (length > 0) return { start, end: start + length };
  // The rest of it may be a password.
  if (region === '' || /[/?#]/.test(region) || !isCutAt(text, end, isCut)) return null;
  return { start, end: end - (/(?:\.{3}|…)$/.exec(region)?.[0].length ?? 0) };
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

const REGION_END = /[\s"'`]|\\[nrt"'`]|:\/\//g;

/** Where a URL must have ended: at a blank, a quote, or the next URL. */
function regionEnd(text: string, start: number): number {
  REGION_END.lastIndex = start;
  return REGION_END.exec(text)?.index ?? text.length;
}

/** Whether a colon in a list of hosts has anything but a port behind it. */
function hasPassword(authority: string): boolean {
  if (authority.startsWith(':')) return true;
  const hosts = authority.replace(/\[[\da-f:.]*\]/gi, '');
  return hosts.split(/[,;]/).some(isHostWithPassword);
}

function isHostWithPassword(host: string): boolean {
  const colon = host.indexOf(':');
  return colon !== -1 && !/^\d*[)>\]}.:!]*$/.test(host.slice(colon + 1));
}

/** Whether a text breaks off at a place. */
function isCutAt(text: string, end: number, isCut: boolean): boolean {
  if (end >= text.length) return isCut || /(?:\.{3}|…)$/.test(text);
  return text[end] === '…' || text.startsWith('...', end) || text.slice(end - 3, end) === '...';
}
