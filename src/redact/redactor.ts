/** Removes secrets from everything that clients see. */
import type { OptionPlace, Read } from '../check-options.ts';
import {
  askHost,
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
  /** Whether a key names a secret. */
  isSecretKey(key: string): boolean;
  /** How much `text` has read since the redactor was created, for tests and benchmarks. */
  readonly work: Readonly<RedactorWork>;
}

/**
 * Creates a redactor.
 *
 * @param given as `redact` of `MonitorSources`. Default: the built-in rules
 * @param place where the rules are given, for messages
 * @throws TypeError when they are invalid
 */
export function createRedactor(
  given?: RedactOptions | RedactFunction | false,
  place?: OptionPlace,
): Redactor {
  const resolved = resolveRedact(given, place);
  const work: RedactorWork = { texts: 0, characters: 0 };
  const finder = resolved?.rules === true ? finderOf(resolved) : null;
  const redact = resolved?.redact ?? null;
  return {
    text(text, field = 'detail', isCut = false) {
      work.texts++;
      work.characters += text.length;
      const shown = finder === null ? text : finder.mask(text, isCut);
      return redact === null ? shown : askHost(redact, shown, field);
    },
    isSecretKey: finder?.isSecretKey ?? (() => false),
    work,
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
