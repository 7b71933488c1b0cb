/** Finds secrets in a text: values of keys that name a secret, and texts with the form of a secret. */
import { type KeyPlace, keyedValue, type Masked } from './keyed-value.ts';
import { hasWords, namesPassword, namesSecret, namesSecretInQuery, wordsOf } from './secret-keys.ts';
import { SHAPE_STEMS, shapeAt } from './shapes.ts';

/** Word parts that may belong to a key that names a secret. */
const KEY_STEMS =
  'pass|pwd|secret|token|auth|cookie|sess|sid|cred|bearer|dsn|jwt|otp|cv[vc]|key|conn(?:ection)?[-_ ]?str|csrf|xsrf|signature|sig(?==|%3d)';

/** Keys whose values may contain blanks and semicolons. */
const HEADER = /(?:authorization|cookie)$/i;

const LONGEST_KEY = 128;
const MOST_KNOWN = 2_000;

/** How many values a part of a text may belong to. If a text exceeds this, the rest of it is masked. */
const MOST_WORK = 16;

/**
 * Masking can change how the rest of a text is read, so repeat until nothing more is found, at most this
 * often.
 */
const MOST_PASSES = 8;

/** What a search depends on besides the text. */
type Pass = Pick<KeyPlace, 'isHidden' | 'lastBackslash'> & { readonly isCut: boolean };

/** Finds secrets. */
export interface SecretFinder {
  isSecretKey(key: string): boolean;
  /** @returns the text with `***` in place of its secrets */
  mask(text: string, isCut: boolean): string;
}

/**
 * Creates a finder.
 *
 * @param extra further keys, see `RedactOptions.keys`
 * @param ownKeys whether to use the built-in names of secrets
 */
export function createSecretFinder(extra: readonly (string | RegExp)[], ownKeys: boolean): SecretFinder {
  const phrases = extra.filter((key) => typeof key === 'string').map(wordsOf);
  // With the flags g and y a test would depend on the previous one.
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

  /** @returns what to mask, or the index at which to continue */
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
      // Notations are ambiguous, so the end of a value may be wrong. Search for keys inside the value too,
      // and mask their values.
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

/** A pattern for everything that may belong to a secret. It keeps harmless texts cheap. */
function stemsOf(phrases: readonly (readonly string[])[], hasPatterns: boolean, ownKeys: boolean): RegExp {
  const stems = [SHAPE_STEMS, ...phrases.flatMap((words) => words.slice(-1))];
  if (ownKeys) stems.push(KEY_STEMS);
  // Matches anything that has the form of a key, once, from its beginning.
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

/**
 * Start indexes of the keys that end here. A key may have several words: `API key: x`,
 * `"Secret Access Key": "x"`.
 */
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

/** Whether the value is a number of tokens, as in `tokens: 512`. */
function isCount(text: string, key: string, { start, end }: Masked): boolean {
  return /tokens$/i.test(key) && /^\d+$/.test(text.slice(start, Math.min(end, start + 16)));
}
