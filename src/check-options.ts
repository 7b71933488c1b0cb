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

/** Bounds and default of a whole number. */
export interface IntegerBounds {
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
 * @throws TypeError
 */
export function refuseUnknownKeys(
  caller: string,
  value: object,
  known: object,
  place = '',
  hints: OptionHints = {},
): void {
  refuseUnknown(caller, value, { known: Object.keys(known), place, hints, kind: 'option' });
}

/** Rejects unknown fields of what a host records, as {@link refuseUnknownKeys} rejects options. */
export function refuseUnknownFields(
  caller: string,
  value: object,
  known: readonly string[],
  hints: OptionHints = {},
): void {
  refuseUnknown(caller, value, { known, place: '', hints, kind: 'field' });
}

interface KnownKeys {
  readonly known: readonly string[];
  readonly place: string;
  readonly hints: OptionHints;
  readonly kind: 'option' | 'field';
}

function refuseUnknown(caller: string, value: object, { known, place, hints, kind }: KnownKeys): void {
  const key = Object.keys(value).find((one) => !known.includes(one));
  if (key === undefined) return;
  const meant = nearestWord(key, known);
  const guess = meant === null ? `The ${kind}s are: ${known.join(', ')}.` : `Did you mean '${meant}'?`;
  const hint = Object.hasOwn(hints, key) ? `Write ${hints[key]} instead.` : guess;
  // A key may be of any length.
  const shown = place + key.slice(0, 40);
  throw new TypeError(`${caller}: '${shown}' is not ${kind === 'option' ? 'an option' : 'a field'}. ${hint}`);
}

/**
 * Reads a group of options and rejects unknown keys; empty when it is absent.
 *
 * @param example what to write
 */
export function readGroup(
  caller: string,
  option: string,
  value: unknown,
  known: object,
  example: string,
): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (!isRecord(value)) throw wrongOption(caller, option, `an object such as ${example}`, value);
  refuseUnknownKeys(caller, value, known, `${option}.`);
  return value;
}

/** Reads a whole number within bounds; the fallback when it is absent. */
export function readInteger(
  caller: string,
  option: string,
  value: unknown,
  { least, most, fallback }: IntegerBounds,
): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    const expected = `a whole number from ${least} to ${most}, such as ${fallback}`;
    throw wrongOption(caller, option, expected, value);
  }
  return value;
}

/** Reads a boolean; the fallback when it is absent. */
export function readBoolean(caller: string, option: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw wrongOption(caller, option, 'true or false', value);
  return value;
}

/** Reads a function; `null` when it is absent. */
export function readFunction<T>(caller: string, option: string, value: unknown, example: string): T | null {
  if (value === undefined) return null;
  if (typeof value !== 'function') throw wrongOption(caller, option, `a function such as ${example}`, value);
  return value as T;
}

/** Reads the name of a source; the fallback when it is absent. */
export function readSourceName(caller: string, option: string, value: unknown, fallback: string): string {
  const name = value ?? fallback;
  if (typeof name !== 'string' || !SOURCE_NAME.test(name)) {
    throw wrongOption(caller, option, `1 to 64 of A-Z a-z 0-9 _ -, such as '${fallback}'`, value);
  }
  return name;
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
