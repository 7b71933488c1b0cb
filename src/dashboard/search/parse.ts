/** Converts a search to parameters of the API, and back. */
import { STATES } from '../text/words.ts';
import {
  ENGINE_STATES,
  FIELDS,
  type Field,
  LONGEST_TEXT,
  MOST_TERMS,
  SEARCH_PARAMETERS,
  SIGNS,
  UNITS,
} from './fields.ts';

/**
 * The parameters of a search.
 *
 * @param search such as `name:mail.* -state:SUCCESS runtime>5s "insufficient funds"`
 * @throws SearchError whose message says where the search is wrong
 */
export function parseSearch(search: string): URLSearchParams {
  const query = new URLSearchParams();
  const given = new Set<string>();
  for (const term of readTerms(search)) {
    const field = FIELDS[term.field];
    if (field?.kind === 'figure') addFigure(query, term, field);
    else if (field !== undefined) addText(query, term, field, given);
  }
  return query;
}

function addText(query: URLSearchParams, term: Term, field: Field, given: Set<string>): void {
  const { field: name, sign, values, isNegated, at } = term;
  if (sign !== ':')
    throw new SearchError(`Write \`${name}:\` instead of \`${name}${sign}\` at character ${at}.`);
  if (isNegated && field.canNegate === false)
    throw new SearchError(`\`${name}\` cannot be excluded: see character ${at}.`);
  if (name === 'root' && values.length > 1)
    throw new SearchError(`Write one value for \`root\` at character ${at}.`);
  if (!isNegated && name !== 'text') {
    if (given.has(name)) {
      throw new SearchError(
        `\`${name}\` appears again at character ${at}. Write \`${name}:a,b\` for either of them.`,
      );
    }
    given.add(name);
  }
  for (const value of values) {
    if (value.isPrefix && !field.hasPrefix) throw noPrefix(name, value);
    const [parameter, text] = name === 'state' ? stateOf(value.text) : [field.parameter, value.text];
    if (name === 'text' && [...text].length > LONGEST_TEXT) {
      throw new SearchError(
        `Write at most ${LONGEST_TEXT} characters to search for, at character ${value.at}.`,
      );
    }
    const whole = `${isNegated ? 'not_' : ''}${parameter}${value.isPrefix ? '_prefix' : ''}`;
    if (!query.getAll(whole).includes(text)) query.append(whole, text);
  }
  if (!isNegated && query.has('state') && query.has('engine_state')) {
    throw new SearchError(`Write states of Celery or of BullMQ at character ${at}, not of both.`);
  }
}

function noPrefix(name: string, { at }: Value): SearchError {
  const where = Object.keys(FIELDS).filter((field) => FIELDS[field]?.hasPrefix);
  const what = name === 'text' ? 'words are found anywhere in a text' : `not for \`${name}\``;
  return new SearchError(`\`*\` works for ${where.join(', ')}: ${what}. See character ${at}.`);
}

/** The states of both engines. Custom states are used unchanged. */
function stateOf(text: string): readonly [parameter: string, state: string] {
  if (ENGINE_STATES.includes(text)) return ['engine_state', text];
  const known = STATES.find((state) => state === text.toUpperCase());
  return ['state', known ?? text];
}

/** The negation of each comparison. */
const OPPOSITE: Readonly<Record<string, string>> = { gt: 'lte', gte: 'lt', lt: 'gte', lte: 'gt' };
const FIGURE = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|min|h)?$/;

function addFigure(query: URLSearchParams, term: Term, field: Field): void {
  const { field: name, sign, values, isNegated, at } = term;
  const [value] = values;
  const end = SIGNS[sign];
  if (end === undefined)
    throw new SearchError(`Write \`${field.example}\` at character ${at}: \`${name}\` is a number.`);
  const [, digits, unit = ''] = FIGURE.exec(value?.isPrefix === false ? value.text : '') ?? [];
  if (digits === undefined || values.length > 1 || (unit !== '' && !field.isTime)) {
    const units = field.isTime ? ' Units are ms, s, min and h.' : '';
    throw new SearchError(
      `Write a number such as \`${field.example}\` at character ${value?.at ?? at}.${units}`,
    );
  }
  const parameter = `${field.parameter}_${isNegated ? OPPOSITE[end] : end}`;
  if (query.has(parameter)) throw new SearchError(`\`${name}${sign}\` appears again at character ${at}.`);
  query.set(parameter, decimal(Number(digits) * (UNITS[unit] ?? 1)));
}

/** As the API reads it: without an exponent. */
function decimal(figure: number): string {
  return figure.toFixed(9).replace(/\.?0+$/, '');
}

/** The search for these parameters. Parameters without a field are left out. */
export function formatSearch(query: URLSearchParams): string {
  return Object.entries(FIELDS)
    .flatMap(([name, field]) =>
      field.kind === 'figure' ? figuresOf(query, name, field) : textsOf(query, name, field),
    )
    .join(' ');
}

function figuresOf(
  query: URLSearchParams,
  name: string,
  { parameter, isTime = false }: Field,
): readonly string[] {
  return Object.entries(SIGNS).flatMap(([sign, end]) => {
    const value = query.get(`${parameter}_${end}`);
    return value === null || value === '' ? [] : [`${name}${sign}${isTime ? withUnit(value) : value}`];
  });
}

/** The value in the largest unit that makes it a whole number. */
function withUnit(value: string): string {
  const seconds = Number(value);
  const [unit, length] = Object.entries(UNITS)
    .toReversed()
    .find(([, size]) => seconds >= size && Number.isInteger(seconds / size)) ?? ['s', 1];
  const shown = decimal(seconds / length);
  return Number(shown) * length === seconds ? shown + unit : `${value}s`;
}

function textsOf(query: URLSearchParams, name: string, field: Field): readonly string[] {
  const parameters = name === 'state' ? ['state', 'engine_state'] : [field.parameter];
  return ['', 'not_'].flatMap((not) => {
    const given = (parameter: string): readonly string[] => query.getAll(not + parameter).filter(Boolean);
    const minus = not === '' ? '' : '-';
    if (name === 'text') return given('q').map((value) => minus + word(value));
    const values = parameters.flatMap((parameter) => [
      ...given(parameter).map(quoted),
      ...given(`${parameter}_prefix`).map((value) => `${quoted(value)}*`),
    ]);
    return values.length === 0 ? [] : [`${minus}${name}:${values.join(',')}`];
  });
}

/** A value of a field, quoted if necessary. */
export function quoted(value: string): string {
  return /[\s,*"]/.test(value) ? inQuotes(value) : value;
}

/** Quotes a word that would otherwise be read as something else. */
function word(value: string): string {
  return /[\s*]|^[-"]|^[a-z_]+[:<>]/i.test(value) ? inQuotes(value) : value;
}

function inQuotes(value: string): string {
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** The query of the page with another search. The order of the list and the period stay. */
export function withSearch(query: URLSearchParams, search: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams([...query].filter(([name]) => !SEARCH_PARAMETERS.includes(name)));
  for (const [name, value] of search) next.append(name, value);
  return next;
}

/** The part of an address that is a search, in the order in which searches are written. */
export function searchIn(query: URLSearchParams): string {
  try {
    return parseSearch(formatSearch(query)).toString();
  } catch {
    return '';
  }
}

/** A value as it is written. */
export interface Value {
  readonly text: string;
  /** Where it begins, from 1. */
  readonly at: number;
  /** Whether a `*` follows it. */
  readonly isPrefix: boolean;
}

/** One term. */
interface Term {
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

/** Splits a search into its terms, in linear time. @throws SearchError */
function readTerms(search: string): readonly Term[] {
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
