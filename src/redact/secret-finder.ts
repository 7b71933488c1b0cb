/** Finds secrets in a text: values of keys that name a secret, and texts with the form of a secret. */
import { type Automaton, createAutomaton, type Found, nextState } from './automaton.ts';
import { createJudge, type FinderOptions, type Judge, type Stem, stemsOf } from './finder-rules.ts';
import { endsInForeignWord, hasForeignWord } from './foreign-words.ts';
import { createRuns, privateKey, privateKeyTail, type Runs, schemeToken, tokenAt } from './forms.ts';
import { isNameOfValue } from './key-context.ts';
import { keyValue, looksRandom, MASK, type Masked } from './key-value.ts';
import { continuesKey, isSignatureInQuery, keyEnd, keyStart, noiseAt, widerStart } from './keys-in-text.ts';
import { joinWords, type Verdict, wordsAt } from './secret-keys.ts';
import { type Unit, afterBackslashes, codeAt, escapedUnit, isKeyCode } from './units.ts';
import { encodedCredentials, oracleCredentials, type Span, urlCredentials } from './url-credentials.ts';
import { mayHaveValue } from './value-place.ts';

/** A search in one text. */
interface Search {
  readonly text: string;
  readonly isCut: boolean;
  /** Everything before this index is read. */
  at: number;
  /** The state of the automaton there. */
  state: number;
  /** Everything before this index is written. */
  done: number;
  /** Keys before this index are judged. */
  judged: number;
  /** Number of keys so far that name a secret. */
  keys: number;
  /** Index after a name whose value is expected in a later member; -1 when none is. */
  named: number;
  readonly runs: Runs;
}

/** Finds secrets. */
export interface SecretFinder {
  isSecretKey(key: string): boolean;
  /** @returns the text with `***` in place of its secrets */
  mask(text: string, isCut: boolean): string;
}

interface Rules {
  readonly automaton: Automaton<Stem>;
  readonly judge: Judge;
  readonly ownKeys: boolean;
}

/** Keys that name secrets are rare. Where they are denser for long, the rest of the text is masked without a look. */
const MOST_KEYS = 32;
const CHARACTERS_PER_KEY = 40;

/** Creates a finder. */
export function createSecretFinder(options: FinderOptions): SecretFinder {
  const judge = createJudge(options);
  const { ownKeys } = options;
  const rules: Rules = { automaton: createAutomaton(stemsOf(options)), judge, ownKeys };
  return {
    isSecretKey: (key) =>
      judge(key, 0, key.length, wordsAt(key, 0, key.length)) === 'secret' || (ownKeys && hasForeignWord(key)),
    mask: (text, isCut) => maskOnce(rules, text, isCut),
  };
}

function maskOnce({ automaton, ...rules }: Rules, text: string, isCut: boolean): string {
  const search: Search = { text, isCut, at: 0, state: 0, done: 0, judged: 0, keys: 0, named: -1, runs: createRuns() };
  let shown = '';
  for (let stems = nextStems(automaton, search); stems !== null; stems = nextStems(automaton, search)) {
    const found = findAt(search, stems, search.at, rules);
    if (found === null) continue;
    const start = Math.max(found.start, search.done);
    // Two secrets side by side are one.
    const isNext = start === search.done && found.text === MASK && shown.endsWith(MASK);
    if (!isNext) shown += text.slice(search.done, start) + found.text;
    search.done = search.at = Math.max(found.end, search.at);
    search.state = 0;
  }
  return search.done === 0 ? text : shown + text.slice(search.done);
}

/** Reads on to the end of the next stems; `null` at the end of the text. Most time is spent here: it is kept small. */
function nextStems({ next, firstFound, found }: Automaton<Stem>, search: Search): readonly Stem[] | null {
  const { text } = search;
  let { at, state } = search;
  while (at < text.length) {
    const code = codeAt(text, at);
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

const BACKSLASH = 92;

/** What backslashes escape: a character, or nothing that matters (code 0), as before a slash or a quote. */
function afterEscape(text: string, at: number): Unit {
  const behind = afterBackslashes(text, at);
  // `\/` in JSON is a slash, which is read next.
  if (codeAt(text, behind) === 47) return { code: 0, end: behind };
  return escapedUnit(text, behind) ?? { code: BACKSLASH, end: behind };
}

type KeyRules = Omit<Rules, 'automaton'>;

function findAt(search: Search, stems: readonly Stem[], at: number, rules: KeyRules): Masked | null {
  for (const stem of stems) {
    // The automaton hashes letters of other scripts.
    if (stem.kind === 'foreign' && !endsInForeignWord(search.text, stem.word, at)) continue;
    const found =
      stem.kind === 'key' || stem.kind === 'foreign' || stem.kind === 'value'
        ? keyAt(search, stem, at, rules)
        : masked(spanAt(search, stem, at));
    if (found !== null) return found;
  }
  return null;
}

const masked = (span: Span | null): Masked | null => span && { start: span.start, end: span.end, text: MASK };

function spanAt({ text, isCut, done, runs }: Search, stem: Stem, at: number): Span | null {
  switch (stem.kind) {
    case 'form':
      return stem.form && tokenAt(text, stem.form, at - stem.form.prefix.length, runs, isCut);
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
      return schemeToken(text, at, stem.kind === 'bearer');
  }
}

/** The value of the key that contains the character before an index. */
function keyAt(search: Search, stem: Stem, at: number, rules: KeyRules): Masked | null {
  const { text } = search;
  if (at <= search.judged || (stem.kind === 'value' && search.named === -1)) return null;
  if (!isKeyCode(codeAt(text, at - 1))) return null;
  if (stem.kind === 'value') return valueOfName(search, at);
  const end = keyEnd(text, at);
  search.judged = end;
  const begin = keyStart(text, at - 1);
  if (!mayHaveValue(text, begin, end)) return null;
  const noise = noiseAt(text, begin);
  const start = begin + noise < at ? begin + noise : begin;
  const verdict = stem.kind === 'foreign' ? 'secret' : verdictOn(text, begin, start, end, rules);
  if (verdict === 'none') return null;
  if (++search.keys > MOST_KEYS + end / CHARACTERS_PER_KEY)
    return { start: end, end: text.length, text: MASK };
  const found = keyValue(text, { start, end });
  if (found === null && verdict === 'secret' && isNameOfValue(text, start)) search.named = end;
  if (found === null || isCount(text, end, found) || isDirectory(text, start, end, found)) return null;
  return verdict === 'random' && !looksRandom(text, found, search.isCut) ? null : found;
}

function verdictOn(
  text: string,
  begin: number,
  start: number,
  end: number,
  { judge, ownKeys }: KeyRules,
): Verdict {
  let words = wordsAt(text, start, end);
  let verdict = judge(text, start, end, words);
  if (verdict === 'none' && begin < start) verdict = judge(text, begin, end, wordsAt(text, begin, end));
  if (ownKeys && verdict !== 'secret' && isSignatureInQuery(text, start, end)) return 'secret';
  for (let more = 0, first = start; more < 2 && verdict === 'none'; more++) {
    const wider = widerStart(text, first);
    if (wider === -1) break;
    words = joinWords(wordsAt(text, wider, first), words);
    verdict = judge(text, wider, end, words);
    first = wider;
  }
  return verdict;
}

const VALUE = /^(?:value|val|content)$/i;
const MEMBER_END = /[}>]|\n\s*-\s/;
/** Longest text between a name and its value. */
const LONGEST_GAP = 1_024;

/** The value of a name in a member before: `{"Name": "token", "Type": "String", "Value": "abc"}`. */
function valueOfName(search: Search, end: number): Masked | null {
  const { text, named } = search;
  // Part of a longer key, whose end must not be searched for at each of its parts.
  if (continuesKey(text, end)) return null;
  const begin = keyStart(text, end - 1);
  const start = begin + noiseAt(text, begin);
  if (!VALUE.test(text.slice(start, Math.min(end, start + 8)))) return null;
  search.named = -1;
  search.judged = end;
  if (start - named > LONGEST_GAP || MEMBER_END.test(text.slice(named, start))) return null;
  return keyValue(text, { start, end });
}

/** Whether the value is a number of tokens, as in `tokens: 512`. */
function isCount(text: string, keyEnd: number, { start, end }: Masked): boolean {
  const first = codeAt(text, start);
  if (first < 48 || first > 57 || !/^\d+$/.test(text.slice(start, Math.min(end, start + 16)))) return false;
  return /tokens$/i.test(text.slice(Math.max(0, keyEnd - 6), keyEnd));
}

const WORKING_DIRECTORY = /^\$?(?:old)?pwd$/i;
const DIRECTORY =
  /^(?:~|[A-Z]:\\|\/(?:app|bin|builds?|code|data|etc|home|media|mnt|opt|project\w*|root|site|src|srv|tmp|usr|Users|var|web|work\w*|www)?(?![^/]))[\w./\\@-]*$/;

/** Whether the value is the working directory of a shell: `PWD=/srv/app`. */
function isDirectory(text: string, keyStart: number, keyEnd: number, { start, end }: Masked): boolean {
  if (keyEnd - keyStart > 7 || (codeAt(text, keyEnd - 1) | 32) !== 100) return false;
  if (!WORKING_DIRECTORY.test(text.slice(keyStart, keyEnd))) return false;
  return DIRECTORY.test(text.slice(start, Math.min(end, start + 256)));
}
