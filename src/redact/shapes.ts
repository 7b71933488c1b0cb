/**
 * Finds secrets that have a recognisable form, whatever their key: tokens, private keys, URLs with
 * credentials.
 */
import { encodedCredentials, isCutAt, type Span, urlCredentials } from './url-credentials.ts';

/** A kind of token with a recognisable beginning. */
interface Form {
  /** Pattern of its beginning, case-sensitive. */
  readonly start: RegExp;
  /** The characters of the token. */
  readonly characters: RegExp;
  /** Whether such a run of characters is a token and not a word with the same beginning. */
  isToken(token: string): boolean;
}

const WORD = /[\w-]*/y;
const DOTTED = /[\w.-]*/y;
const BASE64 = /[\w.+/=-]*/y;
const HASH = /[\w.+/=$,-]*/y;
const PATH = /[\w.@/%-]*/y;

const isLong = (token: string): boolean => token.length >= 20;
/**
 * Requires capitals and digits, which `npm_lifecycle_script` and `sk-learn-feature-extraction` do not both
 * have.
 */
const isMixed = (token: string): boolean => isLong(token) && /\d/.test(token) && /[A-Z]/.test(token);
const hasDigit = (token: string): boolean => isLong(token) && /\d/.test(token);
const isAny = (): boolean => true;

const LONGEST_BEGINNING = 256;

const FORMS: readonly Form[] = [
  { start: /eyJ/y, characters: BASE64, isToken: (token) => token.length >= 16 && token.includes('.') },
  { start: /A(?:KI|SI)A/y, characters: /\w*/y, isToken: isLong },
  { start: /AIza/y, characters: WORD, isToken: isLong },
  { start: /gh[pousr]_|github_pat_|glpat-|shp(?:at|ca|pa|ss)_/y, characters: WORD, isToken: isLong },
  { start: /[sr]k[-_]/y, characters: WORD, isToken: hasDigit },
  { start: /xox[a-z]-|xapp-|dckr_[op]at_|do[opr]_v1_/y, characters: WORD, isToken: hasDigit },
  { start: /whsec_|npm_|hf_|pypi-|gl[a-z]{2,5}-|GOCSPX-/y, characters: WORD, isToken: isMixed },
  { start: /ATATT3|AGE-SECRET-KEY-/y, characters: BASE64, isToken: isLong },
  { start: /SG\.|hv[bsr]\.|ya29\./y, characters: DOTTED, isToken: isMixed },
  { start: /\$2[abxy]?\$\d\d\$|\$argon2|pbkdf2_sha/y, characters: HASH, isToken: isLong },
  { start: /hooks\.slack\.com\/[a-z]{1,16}\//y, characters: PATH, isToken: isAny },
  { start: /\/api\/webhooks\/\d{1,24}\//y, characters: PATH, isToken: isAny },
  { start: /\/bot\d{6,16}:/y, characters: WORD, isToken: isAny },
  { start: /webhook\.office\.com\/webhookb2\//y, characters: PATH, isToken: isAny },
];

/** Forms whose beginning stays visible, because it shows to whom the secret belongs. */
const SHOWN_START = /^(?:hooks|webhook|\/)/;

/** Sources of the patterns that find candidates for these forms. */
export const SHAPE_STEMS = [
  ':(?:\\\\*\\/){2}|%3a%2f%2f|-----begin ',
  '(?<![a-z0-9])(?:bearer[ \\t]|basic[ \\t]|eyj|a(?:ki|si|iz)a|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|xox[a-z]-|xapp-',
  '[sr]k[-_]|whsec_|npm_|pypi-|hf_|hv[bsr]\\.|ya29\\.|gocspx-|do[opr]_v1_|shp(?:at|ca|pa|ss)_|dckr_[op]at_|sg\\.',
  'atatt3|age-secret-key-|hooks\\.slack|webhook\\.office|pbkdf2_)|\\$(?:2[abxy]?\\$|argon2)|\\/(?:api\\/webhooks|bot\\d{6,16}:)',
].join('|');

/**
 * The secret at a candidate; `null` when there is none.
 *
 * @param stem the text that one of {@link SHAPE_STEMS} matched
 * @param at index at which it begins
 * @param isCut whether the end of the text is missing
 */
export function shapeAt(text: string, stem: string, at: number, isCut: boolean): Span | null {
  const behind = at + stem.length;
  if (stem.startsWith(':')) return urlCredentials(text, behind, isCut);
  if (stem.startsWith('%')) return encodedCredentials(text, behind, isCut);
  if (stem.startsWith('-')) return privateKey(text, at, behind);
  const scheme = /^(?:bearer|basic)(?=[ \t])/i.exec(stem)?.[0].toLowerCase();
  if (scheme !== undefined) return schemeToken(text, behind, scheme === 'basic' ? isBasic : isBearer);
  return formAt(text, at, isCut);
}

function formAt(text: string, at: number, isCut: boolean): Span | null {
  for (const { start, characters, isToken } of FORMS) {
    start.lastIndex = at;
    const begin = start.exec(text)?.[0];
    if (begin === undefined) continue;
    const from = SHOWN_START.test(begin) ? at + begin.length : at;
    characters.lastIndex = 0;
    // Only the beginning decides. Reading on to the end would be quadratic for a text of many such
    // beginnings.
    const token = characters.exec(text.slice(from, from + LONGEST_BEGINNING))?.[0] ?? '';
    const isOne = isToken(token);
    characters.lastIndex = from;
    const end = isOne ? from + (characters.exec(text)?.[0].length ?? 0) : from + token.length;
    // At the end of a truncated text the beginning of a token is enough.
    return token !== '' && (isOne || isCutAt(text, end, isCut)) ? { start: from, end } : null;
  }
  return null;
}

/** Excludes `Bearer of` and `Bearer realm="x"`. */
const isBearer = (token: string): boolean =>
  !/^(?:of|tokens?|auth|authentication|authorization|scheme|(?:realm|error|scope|charset)=?)$/i.test(token);
/** Excludes `Basic authentication`: base64 of user and password contains capitals or digits. */
const isBasic = (token: string): boolean =>
  token.length >= 6 && /[A-Z0-9=]/.test(token.slice(1)) && !/^(?:realm|charset)=/i.test(token);

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
