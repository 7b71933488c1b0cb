/** The `redact` option: what is taken for a secret, and its check. */
import { wordsOf } from './secret-keys.ts';

/**
 * A host's own way to take secrets out of a text.
 *
 * @param text what is to be shown: JSON, a Python repr, a traceback, a sentence; perhaps cut at its end
 * @param field where it is shown: `args`, `kwargs`, `result`, `exception`, `traceback`, `stamps`, `detail`,
 *   `error`, `config`, `schedule`
 * @returns the text to show. What it throws, and what is no text, shows `***` instead
 */
export type RedactFunction = (text: string, field: string) => string;

/** Which values are secrets. What is left out has its default. */
export interface RedactOptions {
  /**
   * Names of further keys whose values are secret. A string names a key that has its words side by side, in
   * any case and notation: `'tax id'` stands for `tax_id`, `customerTaxId` and `TAX-ID`, not for `taxidermist`.
   * A pattern is tried against the whole key. Default: none.
   */
  readonly keys?: readonly (string | RegExp)[];
  /**
   * Takes `keys` in place of the names that usually name a secret. URLs with credentials, tokens that show
   * by their form and `Bearer …` stay masked. Default: false.
   */
  readonly replaceKeys?: boolean;
  /** Asked after the rules above, with what they left. Default: none. */
  readonly redact?: RedactFunction;
}

/** {@link RedactOptions}, checked, with every default filled in. */
export interface ResolvedRedact {
  /** False: only the host's function decides. */
  readonly rules: boolean;
  readonly keys: readonly (string | RegExp)[];
  readonly replaceKeys: boolean;
  readonly redact: RedactFunction | null;
}

// The compiler checks that every key has its row.
const KNOWN: Readonly<Record<keyof RedactOptions, true>> = { keys: true, replaceKeys: true, redact: true };

const OURS: ResolvedRedact = Object.freeze({ rules: true, keys: [], replaceKeys: false, redact: null });

/**
 * Checks the `redact` option and fills in its defaults.
 *
 * @param option `false` shows everything, a function replaces every rule of ours, an object extends them
 * @returns `null` when nothing is masked
 * @throws TypeError that names the option and says what to write
 */
export function resolveRedact(option: unknown): ResolvedRedact | null {
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
    throw wrong(`'redact.${unknown}' is not an option; known are ${Object.keys(KNOWN).join(', ')}`);
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

/** A name has letters, or it would name every key. */
function isKey(key: unknown): key is string | RegExp {
  return key instanceof RegExp || (typeof key === 'string' && wordsOf(key).length > 0);
}

function wrong(message: string): TypeError {
  return new TypeError(`createMonitorRouter: ${message}.`);
}
