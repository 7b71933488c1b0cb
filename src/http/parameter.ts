/** Query parameters as data: the same table parses requests and generates `openapi.json`. */

/** The result of parsing a parameter. */
type Reading<T> = { readonly value: T } | { readonly fault: string };

/** JSON Schema of one value. */
interface ParameterSchema {
  readonly type: 'boolean' | 'integer' | 'number' | 'string';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  readonly default?: boolean | number | string;
  readonly examples?: readonly string[];
}

/** One query parameter. */
export interface Parameter<T> {
  /** One sentence for the API's documentation. */
  readonly description: string;
  /** Schema of one value as the client writes it. */
  readonly schema: ParameterSchema;
  /** Whether it may be given up to 50 times; a task needs to match only one of the values. */
  readonly repeatable: boolean;
  /** Whether a task has to match all values of a repeatable parameter. Default: one of them. */
  readonly needsAll?: boolean;
  /** Parses the values as given; none is empty. An empty list: the parameter is absent. */
  read(values: readonly string[]): Reading<T>;
}

/** The parameters of a route by name. */
export type Query = Readonly<Record<string, Parameter<unknown>>>;

/** The parsed values of a query. */
export type ValuesOf<Q extends Query> = {
  readonly [Name in keyof Q]: Q[Name] extends Parameter<infer T> ? T : never;
};

/** Maximum number of values of a repeatable parameter. */
export const MOST_REPEATS = 50;

/** A whole number. */
export function integer(
  description: string,
  bounds: { readonly minimum: number; readonly maximum: number; readonly default: number },
): Parameter<number>;
export function integer(
  description: string,
  bounds: { readonly minimum: number; readonly maximum: number },
): Parameter<number | null>;
export function integer(
  description: string,
  bounds: { readonly minimum: number; readonly maximum: number; readonly default?: number },
): Parameter<number | null> {
  const { minimum, maximum } = bounds;
  const fault = `Write a whole number from ${minimum} to ${maximum}.`;
  return single(description, { type: 'integer', ...bounds }, bounds.default ?? null, fault, (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    return value >= minimum && value <= maximum ? value : null;
  });
}

/** Any text. */
export function text(description: string): Parameter<string | null> {
  return single<string | null>(description, { type: 'string', minLength: 1 }, null, '', (value) => value);
}

/** Texts, one of which has to match. They are sorted, so that their order does not change the cache key. */
export function texts(description: string): Parameter<readonly string[]> {
  return {
    description,
    schema: { type: 'string', minLength: 1 },
    repeatable: true,
    read: (values) => ({ value: [...new Set(values)].sort() }),
  };
}

/** Texts, all of which have to match. */
export function allTexts(description: string, maxLength: number): Parameter<readonly string[]> {
  return {
    description,
    schema: { type: 'string', minLength: 1, maxLength },
    repeatable: true,
    needsAll: true,
    read: (values) =>
      // In characters, not in UTF-16 units.
      values.every((value) => [...value].length <= maxLength)
        ? { value: [...new Set(values)] }
        : { fault: `Write at most ${maxLength} characters.` },
  };
}

/** A non-negative number, such as 0.5. */
export function figure(description: string): Parameter<number | null> {
  const fault = 'Write a number of at least 0, such as 2 or 0.5.';
  return single<number | null>(description, { type: 'number', minimum: 0 }, null, fault, (text) =>
    /^\d{1,12}(?:\.\d{1,9})?$/.test(text) ? Number(text) : null,
  );
}

/** One of the given words. */
export function choice<const Word extends string>(
  description: string,
  words: readonly Word[],
  fallback: Word,
): Parameter<Word> {
  const fault = `Write one of: ${words.join(', ')}.`;
  const schema = { type: 'string', enum: words, default: fallback } as const;
  return single(
    description,
    schema,
    fallback,
    fault,
    (given) => words.find((word) => word === given) ?? null,
  );
}

/** True or false. */
export function flag(description: string): Parameter<boolean> {
  const schema = { type: 'boolean', default: false } as const;
  return single(description, schema, false, 'Write true or false.', (given) =>
    given === 'true' || given === 'false' ? given === 'true' : null,
  );
}

/**
 * Some of the given words, separated by commas; all of them when the parameter is absent.
 *
 * @param named further words that apply only when they are written
 */
export function subset<const Word extends string>(
  description: string,
  words: readonly Word[],
  named: readonly Word[],
): Parameter<readonly Word[]> {
  const all = words.join(',');
  const known = [...words, ...named];
  const fault = `Write one or more of ${known.join(', ')}, with commas between them.`;
  const schema = { type: 'string', default: all, examples: [all, ...named] } as const;
  return single<readonly Word[]>(description, schema, words, fault, (given) => {
    const asked = given.split(',');
    const isKnown = asked.every((word) => known.some((one) => one === word));
    return isKnown ? known.filter((word) => asked.includes(word)) : null;
  });
}

/** A parameter that is given at most once, with its own parser. @param parse returns `null` for what is at fault */
function single<T>(
  description: string,
  schema: ParameterSchema,
  fallback: T,
  fault: string,
  parse: (text: string) => T | null,
): Parameter<T> {
  return {
    description,
    schema,
    repeatable: false,
    read([first]) {
      if (first === undefined) return { value: fallback };
      const value = parse(first);
      return value === null ? { fault } : { value };
    },
  };
}

const CURSOR_FAULT = 'Write a cursor that this list returned, unchanged.';

/** A cursor. @param read parses it; `null` when it is not valid */
export function cursor<T>(description: string, read: (text: string) => T | null): Parameter<T | null> {
  return single<T | null>(description, { type: 'string', minLength: 1 }, null, CURSOR_FAULT, read);
}

// ISO 8601: a date, or a date and a time. A query decodes `+` to a space, so a space before the offset is read
// as a plus that the client did not encode.
const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([ +-])(\d\d):?(\d\d))?)?$/i;
const UNIX_SECONDS = /^-?\d{1,13}(?:\.\d{1,9})?$/;

const MOMENT_FAULT =
  'Write a time such as 2026-11-21T02:00:00Z (without an offset it is UTC) or Unix seconds such as 1795226400.';

/**
 * Parses a time: ISO 8601 (UTC without an offset) or Unix seconds.
 *
 * @returns `null` when it is neither
 */
export function readMoment(text: string): Date | null {
  const moment = UNIX_SECONDS.test(text) ? new Date(Math.round(Number(text) * 1_000)) : readIso(text);
  return moment === null || Number.isNaN(moment.getTime()) ? null : moment;
}

/** A time: ISO 8601 or Unix seconds. */
export function moment(description: string): Parameter<Date | null> {
  const schema = { type: 'string', examples: ['2026-11-21T02:00:00.000Z', '1795226400'] } as const;
  return single<Date | null>(description, schema, null, MOMENT_FAULT, readMoment);
}

function readIso(text: string): Date | null {
  const match = ISO.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const milliseconds = Math.floor(Number(`0.${match[7] ?? 0}`) * 1_000);
  const offset = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0);
  const local = new Date(0);
  // Not Date.UTC, which reads the years 0 to 99 as 1900 to 1999.
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, milliseconds);
  // A date that does not exist has overflowed: February 30th, 24:00, a leap second.
  const exists =
    local.getUTCMonth() === month - 1 &&
    local.getUTCDate() === day &&
    local.getUTCHours() === hour &&
    local.getUTCMinutes() === minute &&
    local.getUTCSeconds() === second;
  if (!exists || Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) return null;
  return new Date(local.getTime() - (match[8] === '-' ? -offset : offset) * 60_000);
}
