/** Splits a search into its terms, in linear time. */
import { FIELDS, MOST_TERMS, SIGNS } from './fields.ts';

/** A value as it is written. */
export interface Value {
  readonly text: string;
  /** Where it begins, from 1. */
  readonly at: number;
  /** Whether a `*` follows it. */
  readonly isPrefix: boolean;
}

/** One term. */
export interface Term {
  /** A field, or `text` for a word or a phrase. */
  readonly field: string;
  /** For a figure `>`, `>=`, `<` or `<=`; for a text `:`. */
  readonly sign: string;
  readonly values: readonly Value[];
  readonly isNegated: boolean;
  /** Where it begins, from 1. */
  readonly at: number;
}

/** Why a search is invalid. The sentence says where, and what to write. */
export class SearchError extends Error {}

/** @throws SearchError */
export function readTerms(search: string): readonly Term[] {
  const terms: Term[] = [];
  let count = 0;
  for (let at = skipSpace(search, 0); at < search.length; ) {
    const { term, end } = readTerm(search, at);
    count += term.values.length;
    if (count > MOST_TERMS)
      throw new SearchError(`At most ${MOST_TERMS} terms: one too many at character ${at + 1}.`);
    terms.push(term);
    at = skipSpace(search, end);
  }
  return terms;
}

interface Read<T> {
  readonly term: T;
  /** Index after it. */
  readonly end: number;
}

function readTerm(search: string, start: number): Read<Term> {
  const isNegated = search[start] === '-';
  const from = isNegated ? start + 1 : start;
  const at = start + 1;
  if (from >= search.length || isSpace(search[from])) {
    throw new SearchError(`Write what to exclude after \`-\` at character ${at}.`);
  }
  const name = NAME.exec(search.slice(from, from + LONGEST_NAME))?.[0] ?? '';
  const sign = signAt(search, from + name.length);
  if (name === '' || sign === null) {
    const { term, end } = readValue(search, from, '');
    return { term: { field: 'text', sign: ':', values: [term], isNegated, at }, end };
  }
  const field = name.toLowerCase();
  if (!Object.hasOwn(FIELDS, field)) throw unknownField(name, from + 1);
  return readField(search, { field, sign, isNegated, at }, from + name.length + sign.length);
}

const LONGEST_NAME = 40;
const NAME = /^[a-z_]+/i;

function signAt(search: string, at: number): string | null {
  return [':', ...Object.keys(SIGNS)].find((sign) => search.startsWith(sign, at)) ?? null;
}

function readField(search: string, term: Omit<Term, 'values'>, start: number): Read<Term> {
  const values: Value[] = [];
  for (let at = start; ; ) {
    const { term: value, end } = readValue(search, at, ',');
    if (value.text === '') {
      throw new SearchError(`Write a value after \`${term.field}${term.sign}\` at character ${at + 1}.`);
    }
    values.push(value);
    if (values.length > MOST_TERMS)
      throw new SearchError(`At most ${MOST_TERMS} terms: one too many at character ${at + 1}.`);
    if (search[end] !== ',') return { term: { ...term, values }, end };
    at = end + 1;
  }
}

/** @param stop characters that end a value in addition to a space. A word has none */
function readValue(search: string, start: number, stop: string): Read<Value> {
  const at = start + 1;
  if (search[start] === '"') {
    const { text, end: behind } = readQuoted(search, start);
    const isPrefix = search[behind] === '*';
    const end = isPrefix ? behind + 1 : behind;
    if (end < search.length && !isSpace(search[end]) && search[end] !== stop) {
      throw new SearchError(`Write a space after the quote at character ${end}.`);
    }
    return { term: { text, at, isPrefix }, end };
  }
  let end = start;
  while (end < search.length && !isSpace(search[end]) && search[end] !== stop) end += 1;
  const whole = search.slice(start, end);
  const star = whole.indexOf('*');
  if (star >= 0 && star < whole.length - 1) {
    throw new SearchError(
      `\`*\` works only at the end: see character ${start + star + 1}. In quotes it is an ordinary character.`,
    );
  }
  return { term: { text: star < 0 ? whole : whole.slice(0, -1), at, isPrefix: star >= 0 }, end };
}

/** In quotes, a backslash precedes a quote or a backslash of the text. */
const QUOTED = /"((?:\\["\\]|\\(?!["\\])|[^"\\])*)("?)/y;

function readQuoted(search: string, start: number): { readonly text: string; readonly end: number } {
  QUOTED.lastIndex = start;
  const [whole = '', text = '', quote] = QUOTED.exec(search) ?? [];
  if (quote !== '"') throw new SearchError(`The quote at character ${start + 1} is not closed.`);
  if (text === '') throw new SearchError(`Write text between the quotes at character ${start + 1}.`);
  return { text: text.replaceAll(/\\(["\\])/g, '$1'), end: start + whole.length };
}

const isSpace = (character: string | undefined): boolean => /\s/.test(character ?? '');

function skipSpace(search: string, start: number): number {
  let at = start;
  while (isSpace(search[at])) at += 1;
  return at;
}

function unknownField(name: string, at: number): SearchError {
  const near = nearest(name.toLowerCase());
  const help = near === null ? `Fields are ${Object.keys(FIELDS).join(', ')}.` : `Did you mean \`${near}\`?`;
  return new SearchError(`Unknown field \`${name}\` at character ${at}. ${help}`);
}

/** Maximum number of letters in which a field may differ from the intended one. */
const MOST_EDITS = 2;

function nearest(name: string): string | null {
  const ranked = Object.keys(FIELDS)
    .map((field) => ({ field, edits: field.startsWith(name) ? 1 : editsBetween(name, field) }))
    .toSorted((a, b) => a.edits - b.edits);
  const [best] = ranked;
  return best !== undefined && best.edits <= MOST_EDITS ? best.field : null;
}

/** Number of letters that have to be added, removed or replaced. Both texts are short. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
