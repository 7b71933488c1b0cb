/** Converts a search to parameters of the API, and back. */
import {
  ENGINE_STATES,
  FIELDS,
  type FigureField,
  LONGEST_TEXT,
  SEARCH_PARAMETERS,
  SIGNS,
  STATES,
  type TextField,
  UNITS,
} from './fields.ts';
import { readTerms, SearchError, type Term, type Value } from './read-terms.ts';

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

function addText(query: URLSearchParams, term: Term, field: TextField, given: Set<string>): void {
  const { field: name, sign, values, isNegated, at } = term;
  if (sign !== ':')
    throw new SearchError(`Write \`${name}:\` instead of \`${name}${sign}\` at character ${at}.`);
  if (isNegated && !field.canNegate)
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
  const where = Object.keys(FIELDS).filter((field) => {
    const known = FIELDS[field];
    return known?.kind === 'text' && known.hasPrefix;
  });
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

function addFigure(query: URLSearchParams, term: Term, field: FigureField): void {
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
  { parameter, isTime }: FigureField,
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

function textsOf(query: URLSearchParams, name: string, field: TextField): readonly string[] {
  const parameters = name === 'state' ? ['state', 'engine_state'] : [field.parameter];
  return ['', 'not_'].flatMap((not) => {
    const values = parameters.flatMap((parameter) => [
      ...query
        .getAll(`${not}${parameter}`)
        .filter(Boolean)
        .map((value) => quoted(value)),
      ...query
        .getAll(`${not}${parameter}_prefix`)
        .filter(Boolean)
        .map((value) => `${quoted(value)}*`),
    ]);
    const minus = not === '' ? '' : '-';
    if (name === 'text')
      return query
        .getAll(`${not}q`)
        .filter(Boolean)
        .map((value) => minus + word(value));
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
