/** Secrets that have a recognisable form, whatever their key: tokens, hashes of passwords, private keys. */
import { codeAt, isControlLetter, isHex } from './units.ts';
import { isCutAt, type Span } from './url-credentials.ts';

/** The characters that a token consists of. */
interface Alphabet {
  /** Position of its last run among {@link Runs}. */
  readonly index: number;
  readonly members: Uint8Array;
}

const alphabetOf = (index: number, pattern: RegExp): Alphabet => ({
  index,
  members: Uint8Array.from({ length: 128 }, (_, code) => Number(pattern.test(String.fromCharCode(code)))),
});

const WORD = alphabetOf(0, /[\w-]/);
const BASE64 = alphabetOf(1, /[\w.+/=~-]/);
const HASH = alphabetOf(2, /[\w.+/=~$,:@%-]/);

/** A kind of token with a recognizable beginning. */
export interface Form {
  readonly prefix: string;
  readonly alphabet: Alphabet;
  /** What a run of characters needs to be a token rather than a word with the same beginning. */
  readonly needs: 'nothing' | 'length' | 'digit' | 'mixed' | 'dot' | 'dollar';
  /** Shortest token, the prefix included. */
  readonly atLeast: number;
  /** The part that stays visible because it shows the owner of the secret: the prefix and this match after it. */
  readonly shown: RegExp | null;
}

const tokens = (needs: Form['needs'], prefixes: string, alphabet: Alphabet = WORD, atLeast = 20): Form[] =>
  prefixes
    .trim()
    .split(/\s+/)
    .map((prefix) => ({ prefix, alphabet, needs, atLeast, shown: null }));

const webhook = (prefix: string, shown: RegExp): Form => ({
  prefix,
  alphabet: HASH,
  needs: 'nothing',
  atLeast: 1,
  shown,
});

/** `mixed` requires a capital and a digit, which `npm_lifecycle_script` and `sk-learn-feature-extraction` lack. */
export const FORMS: readonly Form[] = [
  ...tokens('dot', 'eyJ', BASE64, 16),
  ...tokens(
    'length',
    `AKIA ASIA AIza ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- shpat_ shpca_ shppa_ shpss_ NRAK- NRII- NRRA- NRJS-
    lin_api_ lin_oauth_ lin_wh_ PMAK- ATATT3 ATCTT3 AGE-SECRET-KEY- sq0atp- sq0csp-`,
  ),
  ...tokens(
    'digit',
    `sk- sk_ rk- rk_ xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- dckr_pat_ dckr_oat_ dop_v1_ doo_v1_
    dor_v1_ figd_ figdr_ figo_ figor_ figoh_ ntn_ dapi glsa_ sntrys_ sntryu_ phx_ nfp_ rubygems_ pscale_tkn_`,
  ),
  ...tokens(
    'mixed',
    `whsec_ npm_ hf_ pypi- GOCSPX- glptt- glrt- gldt- glsoat- glcbt- glimt- glft- glagent- gloas- glffct- vca_ vci_
    vck_ vcp_ vcr_ vercel_ sbp_ gsk_ r8_ xai- pplx- lsv2_`,
  ),
  ...tokens('mixed', 'EAAA', BASE64, 40),
  ...tokens('mixed', 'secret_', WORD, 40),
  ...tokens('mixed', 'SG. hvb. hvs. hvr. ya29. dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.', BASE64),
  ...tokens(
    'dollar',
    `$2$ $2a$ $2b$ $2x$ $2y$ $1$ $5$ $6$ $7$ $y$ $gy$ $P$ $H$ $apr1$ $argon2 $pbkdf2 $scrypt $sha1$ $md5 $bcrypt
    pbkdf2_sha pbkdf2:sha scrypt: scrypt$ argon2$ bcrypt_sha256$ bcrypt$`,
    HASH,
  ),
  webhook('hooks.slack.com/', /[a-z]{1,16}\//y),
  webhook('/webhooks/', /\d{5,24}\//y),
  webhook('/api/webhooks/', /\d{1,24}\//y),
  webhook('/bot', /\d{6,16}:/y),
  webhook('webhook.office.com/webhookb2/', /(?:)/y),
];

/** The last run of characters of each alphabet: tokens that begin within it end at its end. */
export type Runs = ReturnType<typeof createRuns>;

export const createRuns = () =>
  [WORD, BASE64, HASH].map(() => ({
    start: -1,
    end: -1,
    lastDigit: -1,
    lastCapital: -1,
    lastDot: -1,
    lastDollar: -1,
    /** Whether the text is cut at its end. */
    isCut: false,
  }));

type Run = Runs[number];

/** The run that contains an index. */
function runAt(text: string, runs: Runs, { index, members }: Alphabet, at: number, isCut: boolean): Run {
  const run = runs[index] as Run;
  if (at >= run.start && at < run.end) return run;
  let end = at;
  run.lastDigit = run.lastCapital = run.lastDot = run.lastDollar = -1;
  for (; end < text.length; end++) {
    const code = codeAt(text, end);
    if (code >= 128 || members[code] === 0) break;
    if (code <= 57 && code >= 48) run.lastDigit = end;
    else if (code <= 90 && code >= 65) run.lastCapital = end;
    else if (code === 46) run.lastDot = end;
    else if (code === 36) run.lastDollar = end;
  }
  run.start = at;
  run.end = end;
  run.isCut = isCutAt(text, end, isCut);
  return run;
}

/** Whether a token of a form may begin at an index. */
export function beginsToken(text: string, { prefix }: Form, at: number): boolean {
  return isWordStart(text, at) && isAt(text, prefix, at);
}

/** The token of a form whose prefix is at an index; `null` when there is none. */
export function tokenAt(text: string, form: Form, at: number, runs: Runs, isCut: boolean): Span | null {
  let start = at;
  if (form.shown !== null) {
    form.shown.lastIndex = at + form.prefix.length;
    if (!form.shown.test(text)) return null;
    start = form.shown.lastIndex;
  }
  const run = runAt(text, runs, form.alphabet, start, isCut);
  if (run.end <= start) return null;
  return isToken(form, run, start) || run.isCut ? { start, end: run.end } : null;
}

/** Whether a word is at an index. For short words, `startsWith` is slower. */
function isAt(text: string, word: string, at: number): boolean {
  for (let index = 0; index < word.length; index++) {
    if (codeAt(text, at + index) !== codeAt(word, index)) return false;
  }
  return true;
}

function isToken({ needs, atLeast, prefix }: Form, run: Run, start: number): boolean {
  if (run.end - start < atLeast) return false;
  const { lastDigit, lastCapital, lastDot, lastDollar } = run;
  const from = start + prefix.length;
  if (needs === 'digit') return lastDigit >= from;
  if (needs === 'mixed') return lastDigit >= from && lastCapital >= from;
  if (needs === 'dot') return lastDot >= from;
  return needs !== 'dollar' || lastDollar >= from;
}

/** Whether a token may begin here: not within a word. Escapes and colours do not belong to a word. */
function isWordStart(text: string, at: number): boolean {
  if (!isAlphanumeric(codeAt(text, at)) || !isAlphanumeric(codeAt(text, at - 1))) return true;
  return endsNoise(text, at);
}

function isAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
}

const ENCODED_BEFORE = /%(?:25)*[\da-f]{2}$/i;
const ESCAPE = /^\\u[\da-f]{4}$/i;
const COLOUR_BEFORE = /\[[\d;]{0,12}m$/;

/** Whether the letter or digit before an index belongs to an escape or a colour: `\n`, `%22`, `[32m`. */
function endsNoise(text: string, at: number): boolean {
  const last = codeAt(text, at - 1);
  if (codeAt(text, at - 2) === 92) return isControlLetter(last | 32);
  if (last === 109) return COLOUR_BEFORE.test(text.slice(Math.max(0, at - 14), at));
  if (!isHex(last) || !isHex(codeAt(text, at - 2))) return false;
  const before = codeAt(text, at - 3);
  if (before === 37) return true;
  if ((before | 32) === 120 && codeAt(text, at - 4) === 92) return true;
  if (codeAt(text, at - 6) === 92 && ESCAPE.test(text.slice(at - 6, at))) return true;
  return before === 53 && ENCODED_BEFORE.test(text.slice(Math.max(0, at - 16), at));
}

const SCHEME_TOKEN = /[ \t]*((?:[\w.~+/*-][\w.~+/=*-]*)?)/y;
/** Excludes `Bearer of` and `Bearer realm="x"`. */
const NO_BEARER =
  /^(?:of|tokens?|auth|authentication|authorization|scheme|(?:realm|error|scope|charset)=?)$/i;
const NO_BASIC = /^(?:realm|charset)=/i;

/** The token after `Bearer ` or `Basic `. Base64 of user and password contains capitals or digits. */
export function schemeToken(text: string, from: number, isBearer: boolean): Span | null {
  SCHEME_TOKEN.lastIndex = from;
  const token = SCHEME_TOKEN.exec(text)?.[1] ?? '';
  if (token === '') return null;
  const start = SCHEME_TOKEN.lastIndex - token.length;
  const isToken = isBearer
    ? token.length > 14 || !NO_BEARER.test(token)
    : token.length >= 6 && /[A-Z0-9=]/.test(token.slice(1, 256)) && !NO_BASIC.test(token.slice(0, 8));
  return isToken ? { start, end: SCHEME_TOKEN.lastIndex } : null;
}

const PEM_LABEL = /[A-Z0-9 ]{0,32}PRIVATE KEY/iy;

function isPrivateKey(text: string, label: number): boolean {
  PEM_LABEL.lastIndex = label;
  return PEM_LABEL.test(text);
}

/** A private key from its first line. @param label index after `-----BEGIN ` */
export function privateKey(text: string, label: number): Span | null {
  if (!isPrivateKey(text, label)) return null;
  const start = label - '-----BEGIN '.length;
  const end = text.indexOf('-----END', label);
  if (end === -1) return { start, end: text.length };
  const close = text.indexOf('-----', end + 8);
  return { start, end: close === -1 ? text.length : close + 5 };
}

/**
 * The lines of a private key whose beginning was cut off, up to its last line.
 *
 * @param label index after `-----END `
 * @param from index before which nothing is masked
 */
export function privateKeyTail(text: string, label: number, from: number): Span | null {
  if (!isPrivateKey(text, label)) return null;
  const last = label - '-----END '.length;
  const start = pemStart(text, last, from);
  const close = text.indexOf('-----', label);
  return start === last ? null : { start, end: close === -1 ? text.length : close + 5 };
}

/** Index at which the lines of a PEM block before an index begin. */
export function pemStart(text: string, end: number, from: number): number {
  let start = end;
  while (start > from && isPemCode(text, start - 1)) start--;
  return start;
}

/** Whether a character may be in the lines of a PEM block: base64, line breaks, and their escapes. */
function isPemCode(text: string, at: number): boolean {
  const code = codeAt(text, at);
  if (isAlphanumeric(code) || code === 43 || code === 47 || code === 61 || code === 13 || code === 10)
    return true;
  const next = codeAt(text, at + 1);
  return code === 92 && (next === 92 || next === 110 || next === 114);
}
