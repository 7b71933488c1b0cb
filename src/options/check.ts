/** Checks of options. Every message names the option, says what was given, and what to write. */

/** A table with one row per key, so that the compiler finds a forgotten one. */
export type KeysOf<T> = Readonly<Record<keyof T, true>>;

/** Whether a value is an object that is no array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Refuses keys that are not known, with the one that was probably meant.
 *
 * @param place what the keys belong to: `''` for the options themselves, `limits.` …
 */
export function refuseUnknownKeys(value: object, known: object, place: string): void {
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(known, key)) continue;
    const meant = nearest(key, Object.keys(known));
    const hint = meant === null ? `Known are: ${Object.keys(known).join(', ')}.` : `Did you mean '${meant}'?`;
    throw new TypeError(`createMonitorRouter: '${place}${key}' is not an option. ${hint}`);
  }
}

/** Says what is wrong with an option. The value itself is named by its type alone: it may be a secret. */
export function wrong(
  option: string,
  expected: string,
  given: unknown,
  caller = 'createMonitorRouter',
): TypeError {
  return new TypeError(`${caller}: '${option}' must be ${expected}; it is ${kindOf(given)}.`);
}

/** A whole number within bounds. */
export function readInteger(
  option: string,
  value: unknown,
  { least, most, fallback }: { readonly least: number; readonly most: number; readonly fallback: number },
): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    const given = typeof value === 'number' ? value : kindOf(value);
    throw new TypeError(
      `createMonitorRouter: '${option}' must be a whole number from ${least} to ${most}, such as ${fallback}; it is ${given}.`,
    );
  }
  return value;
}

/** An object of options, its keys known; empty when it is absent. */
export function readGroup(
  option: string,
  value: unknown,
  known: object,
  example: string,
): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (!isRecord(value)) throw wrong(option, `an object such as ${example}`, value);
  refuseUnknownKeys(value, known, `${option}.`);
  return value;
}

/** What a value is, without showing it. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value === undefined) return 'undefined';
  const type = typeof value;
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The known word that begins with a given one or differs by at most a third of its letters; `null` for none. */
export function nearest(given: string, known: readonly string[]): string | null {
  const begun = given.length > 2 ? known.find((word) => word.startsWith(given)) : undefined;
  if (begun !== undefined) return begun;
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

/** Levenshtein's distance: how many letters to change, add or leave out. */
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
