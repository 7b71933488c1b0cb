/** Finds secrets in a text: the values of keys that name a secret, and texts with the form of a secret. */
import { type Automaton, createAutomaton, type Found, nextState } from './automaton.ts';
import { endsInForeignWord, foreignStems, hasForeignWord } from './foreign-words.ts';
import {
  beginsToken,
  createRuns,
  FORMS,
  type Form,
  pemStart,
  privateKey,
  privateKeyTail,
  type Runs,
  schemeToken,
  tokenAt,
} from './forms.ts';
import { isNameOfValue } from './key-context.ts';
import { keyValue, MASK, type Masked } from './key-value.ts';
import { continuesKey, isSignatureInQuery, keyEnd, keyStart, noiseAt, widerStart } from './keys-in-text.ts';
import {
  hasWords,
  joinWords,
  judgeWords,
  type KeyWords,
  keyStems,
  type Verdict,
  wordsAt,
  wordsOf,
} from './secret-keys.ts';
import { afterBackslashes, BACKSLASH, codeAt, escapedUnit, isKeyCode, type Unit } from './units.ts';
import {
  encodedCredentials,
  isCutAt,
  oracleCredentials,
  type Span,
  urlCredentials,
} from './url-credentials.ts';
import { type Key, mayHaveValue } from './value-position.ts';

/** What may be found at the end of a stem. */
interface Stem {
  readonly kind:
    | 'key'
    | 'host key'
    | 'foreign'
    | 'value'
    | 'form'
    | 'url'
    | 'encoded url'
    | 'oracle'
    | 'bearer'
    | 'basic'
    | 'pem'
    | 'pem end';
  /** The form that begins with it. */
  readonly form: Form | null;
  /** The word in a script other than Latin. */
  readonly word: string;
}

const stemOf = (kind: Stem['kind'], form: Form | null = null, word = ''): Stem => ({ kind, form, word });

/** Which rules apply. */
interface FinderOptions {
  /** Further keys, see `RedactOptions.keys`. */
  readonly keys: readonly (string | RegExp)[];
  /** Whether to use the built-in names of secrets. */
  readonly ownKeys: boolean;
}

/** Judges the key between two indexes of a text, which consists of these words. */
type Judge = (text: string, start: number, end: number, words: KeyWords) => Verdict;

const MOST_KNOWN = 2_000;
const LONGEST_KEY = 128;

/** Judges by the host's words and patterns, and by ours. */
function createJudge({ keys, ownKeys }: FinderOptions): Judge {
  const phrases = keys.filter((key) => typeof key === 'string').map(wordsOf);
  // With the flags g and y, a test would depend on the previous one.
  const patterns = keys
    .filter((key) => key instanceof RegExp)
    .map((key) => new RegExp(key.source, key.flags.replace(/[gy]/g, '')));
  const judgeOurs: Judge = ownKeys ? (_text, _start, _end, words) => judgeWords(words) : () => 'none';
  if (keys.length === 0) return judgeOurs;
  const known = new Map<string, boolean>();
  const isHosts = (key: string): boolean => {
    const answer = known.get(key);
    if (answer !== undefined) return answer;
    if (known.size >= MOST_KNOWN) known.clear();
    const words = wordsOf(key);
    const isOne =
      phrases.some((phrase) => hasWords(words, phrase)) || patterns.some((pattern) => pattern.test(key));
    known.set(key, isOne);
    return isOne;
  };
  return (text, start, end, words) => {
    const verdict = judgeOurs(text, start, end, words);
    return verdict !== 'secret' && isHosts(text.slice(Math.max(start, end - LONGEST_KEY), end))
      ? 'secret'
      : verdict;
  };
}

const FIXED: readonly (readonly [string, Stem['kind']])[] = [
  ['://', 'url'],
  ['%3a%2f%2f', 'encoded url'],
  ['%253a%252f%252f', 'encoded url'],
  ['jdbc:oracle:', 'oracle'],
  ['bearer ', 'bearer'],
  ['basic ', 'basic'],
  ['-----begin ', 'pem'],
  ['-----end ', 'pem end'],
];

const KEY = stemOf('key');
const HOST_KEY = stemOf('host key');

function* stemsOf({ keys, ownKeys }: FinderOptions): Generator<readonly [string, Stem]> {
  for (const [text, kind] of FIXED) yield [text, stemOf(kind)];
  for (const form of FORMS) yield [form.prefix, stemOf('form', form)];
  if (ownKeys) {
    for (const stem of [...keyStems(), 'sig']) yield [stem, KEY];
    for (const word of foreignStems()) yield [word, stemOf('foreign', null, word)];
  }
  for (const given of keys) if (typeof given === 'string') yield [wordsOf(given).at(-1) ?? '', HOST_KEY];
  // A pattern may match any key, so each key is examined from its first character.
  if (keys.some((given) => given instanceof RegExp))
    for (const character of ANY_KEY) yield [character, HOST_KEY];
  if (ownKeys || keys.length > 0)
    for (const name of ['value', 'val', 'content']) yield [name, stemOf('value')];
}

/** A possible first character of a key for each class of the automaton: 16 classes cover all other scripts. */
const ANY_KEY = 'abcdefghijklmnopqrstuvwxyz0123456789_$一丁丂七丄丅丆万丈三上下丌不与丏';

/** A search in one text. */
type Search = ReturnType<typeof beginSearch>;

function beginSearch(text: string, isCut: boolean) {
  return {
    text,
    isCut,
    /** Everything before this index has been read. */
    at: 0,
    /** The state of the automaton there. */
    state: 0,
    /** The output so far. */
    shown: '',
    /** Everything before this index has been written. */
    done: 0,
    /** Keys before this index have been judged. */
    judged: 0,
    /** The total cost of all examinations so far, in characters. */
    cost: 0,
    /** Index after a name whose value is expected in a later member; -1 when none is. */
    named: -1,
    /** `null` until the first token: most texts have none. */
    runs: null as Runs | null,
  };
}

/** Finds secrets. */
export type SecretFinder = ReturnType<typeof createSecretFinder>;

interface Rules {
  readonly automaton: Automaton<Stem>;
  readonly judge: Judge;
  readonly ownKeys: boolean;
}

/**
 * Possible secrets are rare, and examining one takes as long as reading many characters. If the examinations cost more
 * than the length of the text, and more than this free amount, the rest of the text is masked without examining it.
 */
const FREE = 600;
const COST_OF_LOOK = 20;
/** The cost of a key that names a secret, whose value is searched. */
const COST_OF_SECRET = 45;

/** Creates a finder. */
export function createSecretFinder(options: FinderOptions) {
  const judge = createJudge(options);
  const { ownKeys } = options;
  const rules: Rules = { automaton: createAutomaton(stemsOf(options)), judge, ownKeys };
  return {
    isSecretKey: (key: string): boolean =>
      judge(key, 0, key.length, wordsAt(key, 0, key.length)) === 'secret' || (ownKeys && hasForeignWord(key)),
    /** @returns the text with `***` in place of its secrets */
    mask: (text: string, isCut: boolean): string => maskOnce(rules, text, isCut),
  };
}

function maskOnce({ automaton, ...rules }: Rules, text: string, isCut: boolean): string {
  const search = beginSearch(text, isCut);
  for (let stems = nextStems(automaton, search); stems !== null; stems = nextStems(automaton, search)) {
    const found = findAt(search, stems, search.at, rules);
    if (found !== null) replace(search, found);
    if (search.cost <= FREE + search.at) continue;
    // The unread rest, with the lines before it of a private key that is found by its end.
    const start = pemStart(text, search.at, search.done);
    replace(search, { start, end: text.length, text: MASK });
  }
  return search.done === 0 ? text : search.shown + text.slice(search.done);
}

function replace(search: Search, found: Masked): void {
  const start = Math.max(found.start, search.done);
  // Two adjacent secrets are shown as one.
  const isNext = start === search.done && found.text === MASK && search.shown.endsWith(MASK);
  if (!isNext) search.shown += search.text.slice(search.done, start) + found.text;
  search.done = search.at = Math.max(found.end, search.at);
  search.state = 0;
}

type KeyRules = Omit<Rules, 'automaton'>;

function findAt(search: Search, stems: readonly Stem[], at: number, rules: KeyRules): Masked | null {
  for (const stem of stems) {
    if (!isStem(search.text, stem, at)) continue;
    const isName = stem.kind === 'key' || stem.kind === 'host key' || stem.kind === 'foreign';
    const found = isName ? keyAt(search, stem, at, rules) : spanAt(search, stem, at);
    if (found !== null) return found;
  }
  return null;
}

/** Whether a stem really ends at an index: the automaton ignores case and hashes letters of other scripts. */
function isStem(text: string, { kind, form, word }: Stem, at: number): boolean {
  if (kind === 'foreign') return endsInForeignWord(text, word, at);
  return form === null || beginsToken(text, form, at - form.prefix.length);
}

function spanAt(search: Search, stem: Stem, at: number): Masked | null {
  if (stem.kind === 'value') return valueOfName(search, at);
  search.cost += COST_OF_LOOK;
  const span = secretAt(search, stem, at);
  return span && { start: span.start, end: span.end, text: MASK };
}

function secretAt(search: Search, { kind, form }: Stem, at: number): Span | null {
  const { text, isCut, done } = search;
  switch (kind) {
    case 'form':
      search.runs ??= createRuns();
      return form && tokenAt(text, form, at - form.prefix.length, search.runs, isCut);
    case 'url':
      return urlCredentials(text, at, isCut);
    case 'encoded url':
      return encodedCredentials(text, at, isCut);
    case 'oracle':
      return oracleCredentials(text, at, isCut);
    case 'pem':
      return privateKey(text, at);
    case 'pem end':
      return privateKeyTail(text, at, done);
    default:
      return schemeToken(text, at, kind === 'bearer');
  }
}

/** The value of the key that contains the character before an index. */
function keyAt(search: Search, stem: Stem, at: number, rules: KeyRules): Masked | null {
  const { text } = search;
  if (at <= search.judged || !isKeyCode(codeAt(text, at - 1))) return null;
  const end = keyEnd(text, at);
  search.judged = end;
  const begin = keyStart(text, at - 1);
  if (!mayHaveValue(text, begin, end)) return null;
  const noise = noiseAt(text, begin);
  const start = begin + noise < at ? begin + noise : begin;
  const key = { start, end };
  // A host may have named words that occur very often.
  const price = stem.kind === 'host key' ? 0 : COST_OF_LOOK;
  search.cost += price;
  const verdict = stem.kind === 'foreign' ? 'secret' : verdictOn(search, begin, key, rules, price);
  if (verdict === 'none') return null;
  search.cost += COST_OF_SECRET - price;
  if (verdict === 'random' && !hasRandomValue(search, key)) return null;
  const found = keyValue(text, key);
  if (found === null && verdict === 'secret' && isNameOfValue(text, start)) search.named = end;
  return found === null || isCount(text, end, found) || isDirectory(text, start, end, found) ? null : found;
}

/** Whether the value of a key looks random, judged by its start. */
function hasRandomValue(search: Search, key: Key): boolean {
  const near = search.text.slice(0, key.end + LONGEST_GAP);
  const found = keyValue(near, key);
  if (found === null) return false;
  const isRandom = looksRandom(near, found, search.isCut && near.length === search.text.length);
  // A value that was read in vain is read again.
  if (!isRandom) search.cost += found.end - key.end;
  return isRandom;
}

function verdictOn(
  search: Search,
  begin: number,
  { start, end }: Key,
  { judge, ownKeys }: KeyRules,
  price: number,
): Verdict {
  const { text } = search;
  let words = wordsAt(text, start, end);
  let verdict = judge(text, start, end, words);
  if (verdict === 'none' && begin < start) {
    search.cost += price;
    verdict = judge(text, begin, end, wordsAt(text, begin, end));
  }
  if (ownKeys && verdict !== 'secret' && isSignatureInQuery(text, start, end)) return 'secret';
  for (let more = 0, first = start; more < 2 && verdict === 'none'; more++) {
    const wider = widerStart(text, first);
    if (wider === -1) break;
    search.cost += price;
    words = joinWords(wordsAt(text, wider, first), words);
    verdict = judge(text, wider, end, words);
    first = wider;
  }
  return verdict;
}

/** Longest text between a name and its value, and longest part of a value that is checked for randomness. */
const LONGEST_GAP = 1_024;

const VALUE = /^(?:value|val|content)$/i;
const MEMBER_END = /[}>]|\n\s*-\s/;
/** The value that belongs to a name in a previous member: `{"Name": "token", "Type": "String", "Value": "abc"}`. */
function valueOfName(search: Search, end: number): Masked | null {
  const { text, named } = search;
  if (named === -1 || end <= search.judged || !isKeyCode(codeAt(text, end - 1))) return null;
  // Part of a longer key: its end must not be searched again from each of its parts.
  if (continuesKey(text, end)) return null;
  search.cost += COST_OF_LOOK;
  const begin = keyStart(text, end - 1);
  const start = begin + noiseAt(text, begin);
  if (!VALUE.test(text.slice(start, Math.min(end, start + 8)))) return null;
  search.named = -1;
  search.judged = end;
  if (start - named > LONGEST_GAP || MEMBER_END.test(text.slice(named, start))) return null;
  return keyValue(text, { start, end });
}

/** Whether the value is a number of tokens, as in `tokens: 512`. */
function isCount(text: string, keyEnd: number, { start, end }: Span): boolean {
  const first = codeAt(text, start);
  if (first < 48 || first > 57 || !/^\d+$/.test(text.slice(start, Math.min(end, start + 16)))) return false;
  return /tokens$/i.test(text.slice(Math.max(0, keyEnd - 6), keyEnd));
}

const WORKING_DIRECTORY = /^\$?(?:old)?pwd$/i;
const DIRECTORY =
  /^(?:~|[A-Z]:\\|\/(?:app|bin|builds?|code|data|etc|home|media|mnt|opt|project\w*|root|site|src|srv|tmp|usr|Users|var|web|work\w*|www)?(?![^/]))[\w./\\@-]*$/;

/** Whether the value is the working directory of a shell: `PWD=/srv/app`. */
function isDirectory(text: string, keyStart: number, keyEnd: number, { start, end }: Span): boolean {
  if (keyEnd - keyStart > 7 || (codeAt(text, keyEnd - 1) | 32) !== 100) return false;
  if (!WORKING_DIRECTORY.test(text.slice(keyStart, keyEnd))) return false;
  return DIRECTORY.test(text.slice(start, Math.min(end, start + 256)));
}

/** Whether the masked text looks random, like signatures of requests and unlike those of functions. */
function looksRandom(text: string, { start, end }: Span, isCut: boolean): boolean {
  const value = text.slice(start, Math.min(end, start + 512)).replace(/^\w{2,12}=/, '');
  if (isCutAt(text, end, isCut) && /^[\w+/=%-]+$/.test(value)) return true;
  if (value.length < 16 || !/^[\w+/=%:-]+$/.test(value) || !/\d/.test(value)) return false;
  return (/[a-z]/.test(value) && /[A-Z]/.test(value)) || /^[\da-fA-F]+$/.test(value);
}

/** Reads to the end of the next stems; `null` at the end of the text. Most time is spent here, so the loop is small. */
function nextStems({ next, firstFound, found }: Automaton<Stem>, search: Search): readonly Stem[] | null {
  const { text } = search;
  let { at, state } = search;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) {
      const unit = afterEscape(text, at);
      if (unit.code !== 0) state = nextState(next, state, unit.code);
      at = unit.end;
    } else {
      state = nextState(next, state, code);
      at++;
    }
    if (state < firstFound) continue;
    search.at = at;
    search.state = state;
    return (found[state - firstFound] as Found<Stem>).words;
  }
  return null;
}

/** The escaped character after backslashes; code 0 if it does not matter, such as a slash or a quote. */
function afterEscape(text: string, at: number): Unit {
  const behind = afterBackslashes(text, at);
  // `\/` in JSON is a slash, which is read next.
  if (codeAt(text, behind) === 47) return { code: 0, end: behind };
  return escapedUnit(text, behind) ?? { code: BACKSLASH, end: behind };
}
