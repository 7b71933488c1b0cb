/** The `redact` option: what is taken for a secret, and its check. */

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

/** {@link RedactOptions}, checked, with every default filled in. `null`: nothing is masked. */
export interface ResolvedRedact {
  /** False: only the host's function decides. */
  readonly rules: boolean;
  readonly keys: readonly (string | RegExp)[];
  readonly replaceKeys: boolean;
  readonly redact: RedactFunction | null;
}

/**
 * Checks the `redact` option and fills in its defaults.
 *
 * @param option `false` shows everything, a function replaces every rule of ours, an object extends them
 * @throws TypeError that names the option, what was given, and what to write
 */
export function resolveRedact(option: unknown): ResolvedRedact | null {
  if (option === false) return null;
  return { rules: true, keys: [], replaceKeys: false, redact: null };
}
