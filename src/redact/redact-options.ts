/** The `redact` option: what counts as a secret. */
import { MONITOR, type OptionPlace } from '../check-options.ts';
import { wordsOf } from './secret-keys.ts';

/**
 * A host's own redaction of a text.
 *
 * @param text text to show: JSON, a Python repr, a traceback, a sentence. Its end may be truncated. One made of shown
 *   texts, such as a cause, is passed again
 * @param field where it is shown: `args`, `kwargs`, `result`, `exception`, `traceback`, `stamps`, `progress`, `detail`,
 *   `error`, `config`, `schedule`
 * @returns the text to show. If it throws or returns anything but a string, `***` is shown
 */
export type RedactFunction = (text: string, field: string) => string;

/** Which values are secrets. Missing options have their defaults. */
export interface RedactOptions {
  /**
   * Further keys whose values are secret. A string matches keys that contain its words side by side, in any
   * case and notation: `'tax id'` matches `tax_id`, `customerTaxId` and `TAX-ID`, but not `taxidermist`. A
   * pattern is tested against the whole key. Default: none.
   */
  readonly keys?: readonly (string | RegExp)[];
  /**
   * Whether `keys` replace the built-in names of secrets instead of extending them. URLs with credentials,
   * tokens with a recognisable form and `Bearer …` are masked in any case. Default: false.
   */
  readonly replaceKeys?: boolean;
  /** Called after the rules above, with the text that they leave. Default: none. */
  readonly redact?: RedactFunction;
}

/** Checked {@link RedactOptions} with all defaults filled in. */
export interface ResolvedRedact {
  /** Whether the built-in rules apply. False: only the host's function decides. */
  readonly rules: boolean;
  readonly keys: readonly (string | RegExp)[];
  readonly replaceKeys: boolean;
  readonly redact: RedactFunction | null;
}

// The type requires one entry per option.
const KNOWN: Readonly<Record<keyof RedactOptions, true>> = { keys: true, replaceKeys: true, redact: true };

const OURS: ResolvedRedact = Object.freeze({ rules: true, keys: [], replaceKeys: false, redact: null });

/**
 * Checks rules and fills in their defaults.
 *
 * @param given `false` masks nothing, a function replaces all built-in rules, an object extends them
 * @param place where they are given, for messages
 * @returns `null` if nothing is masked
 * @throws TypeError that names the option and says what to write
 */
export function resolveRedact(
  given: unknown,
  { caller, option }: OptionPlace = { caller: MONITOR, option: 'redact' },
): ResolvedRedact | null {
  const wrong = (message: string): TypeError => new TypeError(`${caller}: ${message}.`);
  if (given === undefined) return OURS;
  if (given === false) return null;
  if (typeof given === 'function') return { ...OURS, rules: false, redact: given as RedactFunction };
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrong(
      `'${option}' must be an object such as { keys: ['tax id'] }, a function (text, field) => text, or false`,
    );
  }
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(KNOWN, key));
  if (unknown !== undefined) {
    throw wrong(`'${option}.${unknown}' is not an option; the options are ${Object.keys(KNOWN).join(', ')}`);
  }
  const { keys = [], replaceKeys = false, redact = null } = given as Readonly<Record<string, unknown>>;
  if (!Array.isArray(keys) || !keys.every(isKey)) {
    throw wrong(
      `'${option}.keys' must be an array of names and patterns such as ['tax id', /^x-internal-/i]`,
    );
  }
  if (typeof replaceKeys !== 'boolean') throw wrong(`'${option}.replaceKeys' must be true or false`);
  if (redact !== null && typeof redact !== 'function') {
    throw wrong(`'${option}.redact' must be a function such as (text, field) => text`);
  }
  return { rules: true, keys, replaceKeys, redact: redact as RedactFunction | null };
}

/** A string without letters would match every key. */
function isKey(key: unknown): key is string | RegExp {
  return key instanceof RegExp || (typeof key === 'string' && wordsOf(key).length > 0);
}

/**
 * The rules of several sources in one, which mask all that those of any source mask: built-in rules unless every source
 * replaces them, the keys of all, and their functions one after the other. `false` only if all say so.
 */
export function joinRedact(all: readonly (ResolvedRedact | null)[]): RedactOptions | RedactFunction | false {
  const given = all.filter((one) => one !== null);
  if (given.length === 0) return false;
  const functions = given.flatMap(({ redact }) => redact ?? []);
  const redact: RedactFunction = (text, field) =>
    functions.reduce((shown, own) => askHost(own, shown, field), text);
  const ruled = given.filter(({ rules }) => rules);
  if (ruled.length === 0) return redact;
  return {
    keys: ruled.flatMap(({ keys }) => keys),
    replaceKeys: ruled.every(({ replaceKeys }) => replaceKeys),
    redact,
  };
}

/** Shown when the host's function fails, since it may have failed on a secret. */
const FAILED = '***';

/** What a function of the host makes of a text. */
export function askHost(redact: RedactFunction, text: string, field: string): string {
  try {
    const shown: unknown = redact(text, field);
    return typeof shown === 'string' ? shown : FAILED;
  } catch {
    return FAILED;
  }
}
