/** The `redact` option: what counts as a secret. */
import { MONITOR } from '../check-options.ts';
import { wordsOf } from './secret-keys.ts';

/**
 * A host's own redaction of a text.
 *
 * @param text text to show: JSON, a Python repr, a traceback, a sentence. Its end may be truncated
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
 * Checks the `redact` option and fills in its defaults.
 *
 * @param option `false` masks nothing, a function replaces all built-in rules, an object extends them
 * @param caller the function that takes the option, for messages. Default: the monitor
 * @returns `null` if nothing is masked
 * @throws TypeError that names the option and says what to write
 */
export function resolveRedact(option: unknown, caller = MONITOR): ResolvedRedact | null {
  const wrong = (message: string): TypeError => new TypeError(`${caller}: ${message}.`);
  if (option === undefined) return OURS;
  if (option === false) return null;
  if (typeof option === 'function') return { ...OURS, rules: false, redact: option as RedactFunction };
  if (typeof option !== 'object' || option === null || Array.isArray(option)) {
    throw wrong(
      "'redact' must be an object such as { keys: ['tax id'] }, a function (text, field) => text, or false",
    );
  }
  const unknown = Object.keys(option).find((key) => !Object.hasOwn(KNOWN, key));
  if (unknown !== undefined) {
    throw wrong(`'redact.${unknown}' is not an option; the options are ${Object.keys(KNOWN).join(', ')}`);
  }
  const { keys = [], replaceKeys = false, redact = null } = option as Readonly<Record<string, unknown>>;
  if (!Array.isArray(keys) || !keys.every(isKey)) {
    throw wrong("'redact.keys' must be an array of names and patterns such as ['tax id', /^x-internal-/i]");
  }
  if (typeof replaceKeys !== 'boolean') throw wrong("'redact.replaceKeys' must be true or false");
  if (redact !== null && typeof redact !== 'function') {
    throw wrong("'redact.redact' must be a function such as (text, field) => text");
  }
  return { rules: true, keys, replaceKeys, redact: redact as RedactFunction | null };
}

/** A string without letters would match every key. */
function isKey(key: unknown): key is string | RegExp {
  return key instanceof RegExp || (typeof key === 'string' && wordsOf(key).length > 0);
}
