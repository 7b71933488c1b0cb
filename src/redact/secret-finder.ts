/** Finds secrets in a text: values under keys that name one, and what shows by its form. */
import { type KeyPlace, keyedValue, type Masked } from './keyed-value.ts';
import { hasWords, namesPassword, namesSecret, namesSecretInQuery, wordsOf } from './secret-keys.ts';
import { SHAPE_STEMS, shapeAt } from './shapes.ts';

/** What part of a word leads to a key that may name a secret. */
const KEY_STEMS =
  'pass|pwd|secret|token|auth|cookie|sess|sid|cred|bearer|dsn|jwt|otp|cv[vc]|key|conn(?:ection)?[-_ ]?str|csrf|xsrf|signature|sig(?==|%3d)';

/** Keys whose values may have blanks and semicolons in them. */
const HEADER = /(?:authorization|cookie)$/i;

const LONGEST_KEY = 128;
const MOST_KNOWN = 2_000;

/** How often a part of a text may belong to one more value; the rest of a text that is made of such is hidden. */
const MOST_WORK = 16;

/** A text is looked at again until nothing more is found in it: what is left may read in another way. */
const MOST_PASSES = 8;

/** What a look at one place depends on beside the text. */
type Pass = Pick<KeyPlace, 'isHidden' | 'lastBackslash'> & { readonly isCut: boolean };

/** Finds secrets. */
export interface SecretFinder {
  isSecretKey(key: string): boolean;
  /** @returns the text with `***` in place of secrets */
  mask(text: string, isCut: boolean): string;
}

/**
 * @param extra further keys, see `RedactOptions.keys`
 * @param ownKeys whether keys that usually name a secret count
 */
export function createSecretFinder(extra: readonly (string | RegExp)[], ownKeys: boolean): SecretFinder {
  const phrases = extra.filter((key) => typeof key === 'string').map(wordsOf);
  // Without g and y, which would make a test depend on the one before.
  const patterns = extra
    .filter((key) => key instanceof RegExp)
    .map((key) => new RegExp(key.source, key.flags.replace(/[gy]/g, '')));
  const stems = stemsOf(phrases, patterns.length > 0, ownKeys);
  const known = new Map<string, boolean>();

  function judge(key: string): boolean {
    const words = wordsOf(key);
    return (
      (ownKeys && namesSecret(words)) ||
      phrases.some((phrase) => hasWords(words, phrase)) ||
      patterns.some((pattern) => pattern.test(key))
    );
  }

  function isInQuery(text: string, start: number, end: number): boolean {
    return ownKeys && end - start < 16 && namesSecretInQuery(text.slice(Math.max(0, start - 1), end));
  }

  function isSecretKey(key: string): boolean {
    if (key.length > LONGEST_KEY) return judge(key.slice(-LONGEST_KEY));
    const answer = known.get(key);
    if (answer !== undefined) return answer;
    if (known.size >= MOST_KNOWN) known.clear();
    const judged = judge(key);
    known.set(key, judged);
    return judged;
  }

  /** @returns what to mask, or where to look on */
  function find(
    text: string,
    stem: RegExpExecArray,
    { isCut, isHidden, lastBackslash }: Pass,
  ): Masked | number {
    const at = stem.index;
    if (SHAPE_START.test(stem[0])) {
      const span = isHidden ? null : shapeAt(text, stem[0], at, isCut);
      if (span !== null) return { ...span, text: '***' };
      if (!/^bearer/i.test(stem[0])) return at + stem[0].length;
    }
    const start = keyStart(text, at);
    const end = keyEnd(text, at);
    for (const begin of keyStarts(text, start)) {
      const key = text.slice(begin, end);
      if (!isSecretKey(key) && !isInQuery(text, start, end)) continue;
      const isHeader = HEADER.test(key);
      const isPassword = namesPassword(key);
      const found = keyedValue(text, { start, end, isHeader, isPassword, isHidden, lastBackslash });
      return found === null || isCount(text, key, found) ? end : found;
    }
    return end;
  }

  function maskOnce(text: string, isCut: boolean): string {
    let shown = '';
    let done = 0;
    let work = 0;
    stems.lastIndex = 0;
    const pass = { isCut, isHidden: false, lastBackslash: text.lastIndexOf('\\') };
    for (let stem = stems.exec(text); stem !== null && done < text.length; stem = stems.exec(text)) {
      pass.isHidden = stem.index < done;
      const found = find(text, stem, pass);
      if (typeof found === 'number') {
        stems.lastIndex = found;
        continue;
      }
      if (found.start >= done) shown += text.slice(done, found.start) + found.text;
      done = Math.max(done, found.end);
      // Notations are ambiguous, so a value may have been taken to be too short or too long: keys are looked
      // for within it as well, and what belongs to them is hidden, too.
      stems.lastIndex = found.start;
      work += found.end - found.start;
      if (work > MOST_WORK * text.length) done = text.length;
    }
    return shown + text.slice(done);
  }

  return {
    isSecretKey,
    mask(text, isCut) {
      let shown = text;
      for (let pass = 0; pass < MOST_PASSES; pass++) {
        const before = shown;
        shown = maskOnce(before, isCut);
        if (shown === before) break;
      }
      return shown;
    },
  };
}

const SHAPE_START = new RegExp(`^(?:${SHAPE_STEMS.replace('(?<![a-z0-9])', '')})`, 'i');

/** A pattern for everything that may lead to a secret; it makes harmless texts cheap. */
function stemsOf(phrases: readonly (readonly string[])[], hasPatterns: boolean, ownKeys: boolean): RegExp {
  const stems = [SHAPE_STEMS, ...phrases.flatMap((words) => words.slice(-1))];
  if (ownKeys) stems.push(KEY_STEMS);
  // Whatever has the form of a key: each is looked at once, from its beginning.
  if (hasPatterns) stems.push('(?<![\\w$-])[\\w$-]{1,128}(?=[\\\\"\'`\\]]{0,8}[ \\t]{0,8}[:=,>])');
  return new RegExp(stems.join('|'), 'gi');
}

function isKeyCharacter(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 36
  );
}

function keyStart(text: string, at: number): number {
  const first = Math.max(0, at - LONGEST_KEY);
  let start = at;
  while (start > first && isKeyCharacter(text.charCodeAt(start - 1))) start--;
  return start;
}

function keyEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && isKeyCharacter(text.charCodeAt(end))) end++;
  return end;
}

/** A key may be written in words: `API key: x`, `"Secret Access Key": "x"`. */
function keyStarts(text: string, start: number): number[] {
  const starts = [start];
  let begin = start;
  for (let words = 0; words < 2; words++) {
    if (text[begin - 1] !== ' ' || begin < 2 || !isKeyCharacter(text.charCodeAt(begin - 2))) break;
    begin = keyStart(text, begin - 1);
    starts.push(begin);
  }
  return starts;
}

/** `tokens: 512` is how many there are. */
function isCount(text: string, key: string, { start, end }: Masked): boolean {
  return /tokens$/i.test(key) && /^\d+$/.test(text.slice(start, Math.min(end, start + 16)));
}
