/**
 * Checks options. Every message names the option, and the function that was called or, for options of the monitor, the
 * package. It says what to write, and shows the type of a wrong value but not the value, which may be a secret. Only
 * numbers are shown.
 */
import { isRecord } from './values.ts';

/** The start of messages about options that `createMonitorRouter` and `createMonitorHandler` share. */
export const MONITOR = 'express-task-monitor';

/** A table with one row per key, so that the compiler finds missing keys. */
export type KeysOf<T> = Readonly<Record<keyof T, true>>;

/** Bounds and default of a number. */
export interface NumberBounds {
  readonly least: number;
  readonly most: number;
  readonly fallback: number;
}

/** Common mistakes: a wrong option name, and what to write instead. */
export type OptionHints = Readonly<Record<string, string>>;

const SOURCE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The error for an option of the wrong type or form.
 *
 * @param caller the function that was called, such as `celerySources`, or {@link MONITOR}
 * @param option path of the option, such as `limits.page`
 * @param expected what to write, to follow "must be"
 */
export function wrongOption(caller: string, option: string, expected: string, given: unknown): TypeError {
  return new TypeError(`${caller}: '${option}' must be ${expected}; it is ${kindOf(given)}.`);
}

/**
 * Rejects unknown keys, and suggests the key that was probably meant.
 *
 * @param place the group of the keys: `''` for the options themselves, `limits.` …
 * @param kind what the keys are: options, or fields of what a host records
 * @throws TypeError
 */
function refuseUnknownKeys(
  caller: string,
  value: object,
  known: object,
  place: string,
  hints: OptionHints,
  kind: 'option' | 'field' = 'option',
): void {
  const names = Object.keys(known);
  const key = Object.keys(value).find((one) => !names.includes(one));
  if (key === undefined) return;
  const meant = nearestWord(key, names);
  const guess = meant === null ? `The ${kind}s are: ${names.join(', ')}.` : `Did you mean '${meant}'?`;
  const hint = Object.hasOwn(hints, key) ? `Write ${hints[key]} instead.` : guess;
  // A key may be of any length.
  const shown = place + key.slice(0, 40);
  throw new TypeError(`${caller}: '${shown}' is not ${kind === 'option' ? 'an option' : 'a field'}. ${hint}`);
}

/** Rejects unknown fields of what a host records, as {@link refuseUnknownKeys} rejects options. */
export function refuseUnknownFields(
  caller: string,
  value: object,
  known: object,
  hints: OptionHints = {},
): void {
  refuseUnknownKeys(caller, value, known, '', hints, 'field');
}

/** Where an option is, for messages. */
export interface OptionPlace {
  /** The function that was called. */
  readonly caller: string;
  /** Path of the option, such as `limits.page`. */
  readonly option: string;
}

/** Checks what was given for an option, `undefined` if nothing was, and returns it or its default. Throws a TypeError. */
export type Read<Value> = (given: unknown, place: OptionPlace) => Value;

/** How each option of an interface is read. The compiler finds missing ones. */
export type OptionTable<Options> = { readonly [Name in keyof Options]-?: Read<unknown> };

/** What a table reads: every option, set. */
export type OptionsOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Read<infer Value> ? Value : never;
};

/** What messages about an object of options need. */
export interface TableWords {
  /** What to write, such as `{ taskDays: 7 }`. */
  readonly example: string;
  readonly hints?: OptionHints;
  /** Path of the object; absent: the options themselves. */
  readonly group?: string;
}

/**
 * Reads all options of a table, and rejects others.
 *
 * @throws TypeError that says what to write
 */
export function readOptions<Table extends Readonly<Record<string, Read<unknown>>>>(
  caller: string,
  given: unknown,
  table: Table,
  { example, hints = {}, group }: TableWords,
): OptionsOf<Table> {
  if (!isRecord(given)) throw wrongOption(caller, group ?? 'options', `an object such as ${example}`, given);
  const place = group === undefined ? '' : `${group}.`;
  refuseUnknownKeys(caller, given, table, place, hints);
  const values = Object.entries(table).map(([name, read]) => [
    name,
    read(given[name], { caller, option: place + name }),
  ]);
  return Object.freeze(Object.fromEntries(values)) as OptionsOf<Table>;
}

/** An object of options within options; each of them has its default when it is absent. */
export function group<Table extends Readonly<Record<string, Read<unknown>>>>(
  table: Table,
  words: Omit<TableWords, 'group'>,
): Read<OptionsOf<Table>> {
  return (given = {}, { caller, option }) => readOptions(caller, given, table, { ...words, group: option });
}

/** The same, or `true` for all defaults, or `false` for none of it: `null`. */
export function optionalGroup<Table extends Readonly<Record<string, Read<unknown>>>>(
  table: Table,
  words: Omit<TableWords, 'group'>,
  fallback: boolean,
): Read<OptionsOf<Table> | null> {
  return (given = fallback, { caller, option }) => {
    if (given === false) return null;
    const options = given === true ? {} : given;
    if (!isRecord(options)) {
      throw wrongOption(caller, option, `true, false or an object such as ${words.example}`, given);
    }
    return readOptions(caller, options, table, { ...words, group: option });
  };
}

/**
 * A value that passes a test.
 *
 * @param expected what to write, to follow "must be"
 * @param fallback absent: the option is required
 */
export function checked<Value, Default = never>(
  isRight: (given: unknown) => given is Value,
  expected: string,
  fallback?: Default,
): Read<Value | Default> {
  return (given, { caller, option }) => {
    if (given === undefined && fallback !== undefined) return fallback;
    if (!isRight(given)) throw wrongOption(caller, option, expected, given);
    return given;
  };
}

/** A value that is checked elsewhere, together with others. */
export const asGiven: Read<unknown> = (given) => given;

/** A whole number within bounds; the fallback when it is absent. */
export function wholeNumber(bounds: NumberBounds): Read<number> {
  return numberOf(Number.isInteger, 'a whole number', bounds);
}

/** Days within bounds, also parts of a day. */
export function days(bounds: NumberBounds): Read<number> {
  return numberOf(Number.isFinite, 'a number of days', bounds);
}

function numberOf(
  isRight: (given: number) => boolean,
  what: string,
  { least, most, fallback }: NumberBounds,
): Read<number> {
  const isWithin = (given: unknown): given is number =>
    typeof given === 'number' && isRight(given) && given >= least && given <= most;
  return checked(isWithin, `${what} from ${least} to ${most}, such as ${fallback}`, fallback);
}

/** A text that passes a test. Parameters as for {@link checked}. */
export function text<Default = never>(
  isRight: (given: string) => boolean,
  expected: string,
  fallback?: Default,
): Read<string | Default> {
  const isRightText = (given: unknown): given is string => typeof given === 'string' && isRight(given);
  return checked(isRightText, expected, fallback);
}

/** A boolean. */
export function flag<Default>(fallback: Default): Read<boolean | Default> {
  return checked((given) => typeof given === 'boolean', 'true or false', fallback);
}

/** A function; `null` when it is absent. */
export function callback<Callback>(example: string): Read<Callback | null> {
  const isFunction = (given: unknown): given is Callback => typeof given === 'function';
  return checked(isFunction, `a function such as ${example}`, null);
}

/** One of some values. Without a fallback, the option is required. */
export function oneOf<const Value extends string | number>(
  values: readonly Value[],
  fallback?: Value,
): Read<Value> {
  const shown = values.map((value) => (typeof value === 'string' ? `'${value}'` : value));
  const expected = `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`;
  return (given = fallback, { caller, option }) => {
    const value = values.find((one) => one === given);
    if (value === undefined) throw wrongOption(caller, option, expected, given);
    return value;
  };
}

/** Texts that are not empty, in an array; none when it is absent. */
export function names(expected: string): Read<readonly string[]> {
  const areNames = (given: unknown): given is readonly string[] =>
    Array.isArray(given) && given.every((name) => typeof name === 'string' && name !== '');
  return checked(areNames, expected, []);
}

export function isSourceName(given: unknown): given is string {
  return typeof given === 'string' && SOURCE_NAME.test(given);
}

/** The name of a source. */
export function sourceName(fallback: string): Read<string> {
  return (given, { caller, option }) => {
    const name = given ?? fallback;
    if (isSourceName(name)) return name;
    throw wrongOption(caller, option, `1 to 64 of A-Z a-z 0-9 _ -, such as '${fallback}'`, given);
  };
}

/** Describes the type of a value without showing the value. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (value === undefined) return 'undefined';
  if (typeof value === 'number') return String(value);
  const type = typeof value;
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/**
 * The known word that begins with the given one, or differs in at most a third of its letters; `null` if there
 * is none.
 */
export function nearestWord(given: string, known: readonly string[]): string | null {
  const begun = given.length > 2 ? known.find((word) => word.startsWith(given)) : undefined;
  if (begun !== undefined) return begun;
  // No option is that long, and the distance between long words takes long to compute.
  if (given.length > 64) return null;
  let best: string | null = null;
  let least = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const word of known) {
    const steps = distance(given.toLowerCase(), word.toLowerCase());
    if (steps < least) {
      best = word;
      least = steps;
    }
  }
  return best;
}

/** Levenshtein distance: the number of letters to change, add or remove. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
