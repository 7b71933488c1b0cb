/** The rules of a finder: the stems that begin a search, and the keys that name a secret. */

import { foreignStems } from './foreign-words.ts';
import { FORMS, type Form } from './forms.ts';
import { hasWords, judgeWords, type KeyWords, keyStems, type Verdict, wordsOf } from './secret-keys.ts';

/** What may be found at the end of a stem. */
export interface Stem {
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
export interface FinderOptions {
  /** Further keys, see `RedactOptions.keys`. */
  readonly keys: readonly (string | RegExp)[];
  /** Whether to use the built-in names of secrets. */
  readonly ownKeys: boolean;
}

/** Judges the key between two indexes of a text, which consists of these words. */
export type Judge = (text: string, start: number, end: number, words: KeyWords) => Verdict;

const MOST_KNOWN = 2_000;
const LONGEST_KEY = 128;

/** Judges by the host's words and patterns, and by ours. */
export function createJudge({ keys, ownKeys }: FinderOptions): Judge {
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

export function* stemsOf({ keys, ownKeys }: FinderOptions): Generator<readonly [string, Stem]> {
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
