/** What a host masks besides the usual secret names, and the redactor that is made of it. */
import { MONITOR, type OptionPlace, type Read } from '../check-options.ts';
import { createSecretFinder, type SecretFinder } from './secret-finder.ts';
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
interface ResolvedRedact {
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
function askHost(redact: RedactFunction, text: string, field: string): string {
  try {
    const shown: unknown = redact(text, field);
    return typeof shown === 'string' ? shown : FAILED;
  } catch {
    return FAILED;
  }
}

/** Removes secrets from texts. Never throws. */
export type Redactor = ReturnType<typeof createRedactor>;

/**
 * Creates a redactor.
 *
 * @param given as `redact` of `MonitorSources`. Default: the built-in rules
 * @param place where the rules are given, for messages
 * @throws TypeError when they are invalid
 */
export function createRedactor(given?: RedactOptions | RedactFunction | false, place?: OptionPlace) {
  const resolved = resolveRedact(given, place);
  const work = { texts: 0, characters: 0 };
  const finder = resolved?.rules === true ? finderOf(resolved) : null;
  const redact = resolved?.redact ?? null;
  return {
    /**
     * Masks the secrets in a text.
     *
     * @param text JSON, a Python repr, a traceback, a sentence …
     * @param field where the text is shown, passed to the host's function
     * @param isCut whether the end of the text is missing. A possible start of a secret at the end is then masked too
     */
    text(text: string, field = 'detail', isCut = false): string {
      work.texts++;
      work.characters += text.length;
      const shown = finder === null ? text : finder.mask(text, isCut);
      return redact === null ? shown : askHost(redact, shown, field);
    },
    /** Whether a key names a secret. */
    isSecretKey: finder?.isSecretKey ?? (() => false),
    /** Number of texts, and of their characters (UTF-16 code units), that `text` has read, for tests and benchmarks. */
    work: work as Readonly<typeof work>,
  };
}

/** The option `redact` of a source; `null` for `false`: the source keeps and returns its texts as they are. */
export const readSourceRedactor: Read<Redactor | null> = (given, place) =>
  given === false ? null : createRedactor(given as RedactOptions | RedactFunction, place);

/** The finder without keys of the host. It keeps no state, and building it takes milliseconds, so all redactors share it. */
let builtIn: SecretFinder | null = null;

function finderOf({ keys, replaceKeys }: ResolvedRedact): SecretFinder {
  if (keys.length > 0 || replaceKeys) return createSecretFinder({ keys, ownKeys: !replaceKeys });
  builtIn ??= createSecretFinder({ keys, ownKeys: true });
  return builtIn;
}
