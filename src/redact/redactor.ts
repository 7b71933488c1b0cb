/** Removes secrets from everything that clients see. */
import { MONITOR } from '../check-options.ts';
import {
  type RedactFunction,
  type RedactOptions,
  type ResolvedRedact,
  resolveRedact,
} from './redact-options.ts';
import { createSecretFinder, type SecretFinder } from './secret-finder.ts';

/** The amount of text that a redactor has read. */
export interface RedactorWork {
  /** Number of texts. */
  texts: number;
  /** Number of characters (UTF-16 code units) of these texts. */
  characters: number;
}

/** Removes secrets from texts. Never throws. */
export interface Redactor {
  /**
   * Masks the secrets in a text.
   *
   * @param text JSON, a Python repr, a traceback, a sentence …
   * @param field where the text is shown, passed to the host's function. Default `detail`
   * @param isCut whether the end of the text is missing. A possible start of a secret at the end is then
   *   masked too. Default false
   */
  text(text: string, field?: string, isCut?: boolean): string;
  /**
   * Applies only the host's rules, its keys and its function, to a text from which our rules have already removed
   * secrets. Parameters as for `text`. Without rules of the host it returns the text unchanged.
   */
  hostText(text: string, field?: string, isCut?: boolean): string;
  /** Whether `hostText` may change a text. */
  readonly hasHostRules: boolean;
  /** Whether a key names a secret. */
  isSecretKey(key: string): boolean;
  /** Whether a key is one of the host's own. */
  isHostKey(key: string): boolean;
  /** How much `text` and `hostText` have read since the redactor was created, for tests and benchmarks. */
  readonly work: Readonly<RedactorWork>;
}

/** Shown when the host's function fails, since it may have failed on a secret. */
const FAILED = '***';

/**
 * Creates a redactor.
 *
 * @param option as in `createMonitorRouter({ redact })`. Default: the built-in rules
 * @param caller the function that takes the option, for messages. Default: the monitor
 * @throws TypeError when the option is invalid
 */
export function createRedactor(option?: RedactOptions | RedactFunction | false, caller = MONITOR): Redactor {
  const resolved = resolveRedact(option, caller);
  const work: RedactorWork = { texts: 0, characters: 0 };
  const finder = resolved?.rules === true ? finderOf(resolved) : null;
  const hostFinder = resolved === null ? null : hostFinderOf(resolved);
  const redact = resolved?.redact ?? null;

  function run(find: SecretFinder | null, text: string, field: string, isCut: boolean): string {
    work.texts++;
    work.characters += text.length;
    const shown = find === null ? text : find.mask(text, isCut);
    return redact === null ? shown : ask(redact, shown, field);
  }

  return {
    text: (text, field = 'detail', isCut = false) => run(finder, text, field, isCut),
    hostText: (text, field = 'detail', isCut = false) => run(hostFinder, text, field, isCut),
    hasHostRules: hostFinder !== null || redact !== null,
    isSecretKey: finder?.isSecretKey ?? (() => false),
    isHostKey: hostFinder?.isSecretKey ?? (() => false),
    work,
  };
}

/** The finder without keys of the host. It keeps no state, and building it takes milliseconds, so all redactors share it. */
let builtIn: SecretFinder | null = null;

function finderOf({ keys, replaceKeys }: ResolvedRedact): SecretFinder {
  if (keys.length > 0 || replaceKeys) return createSecretFinder({ keys, ownKeys: !replaceKeys, forms: true });
  builtIn ??= createSecretFinder({ keys, ownKeys: true, forms: true });
  return builtIn;
}

/** Finds the values of the host's own keys; `null` if it has none. */
function hostFinderOf({ rules, keys }: ResolvedRedact): SecretFinder | null {
  return rules && keys.length > 0 ? createSecretFinder({ keys, ownKeys: false, forms: false }) : null;
}

function ask(redact: RedactFunction, text: string, field: string): string {
  try {
    const shown: unknown = redact(text, field);
    return typeof shown === 'string' ? shown : FAILED;
  } catch {
    return FAILED;
  }
}
