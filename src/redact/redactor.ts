/** Removes secrets from everything that clients see. */
import { type RedactFunction, type RedactOptions, resolveRedact } from './redact-options.ts';
import { createSecretFinder } from './secret-finder.ts';

/** Removes secrets from texts. Never throws. */
export interface Redactor {
  /**
   * Masks the secrets in a text.
   *
   * @param text JSON, a Python repr, a traceback, a sentence …
   * @param field where the text is shown, passed to the host's function. Default `detail`
   * @param isCut whether the end of the text is missing. What may be the beginning of a secret there is then
   *   masked too. Default false
   */
  text(text: string, field?: string, isCut?: boolean): string;
  /** Whether a key names a secret. */
  isSecretKey(key: string): boolean;
  /**
   * Whether `text` only replaces parts by `***`, perhaps in quotes. If so, what a text does not contain its
   * redacted form does not contain either.
   */
  readonly onlyMasks: boolean;
}

/** Shown when the host's function fails, since it may have failed on a secret. */
const FAILED = '***';

/**
 * Creates a redactor.
 *
 * @param option as in `createMonitorRouter({ redact })`. Default: the built-in rules
 * @throws TypeError when the option is invalid
 */
export function createRedactor(option?: RedactOptions | RedactFunction | false): Redactor {
  const resolved = resolveRedact(option);
  if (resolved === null) return { text: (text) => text, isSecretKey: () => false, onlyMasks: true };
  const { redact } = resolved;
  const finder = createSecretFinder(resolved.keys, !resolved.replaceKeys);
  if (redact === null) {
    return {
      text: (text, _field, isCut = false) => finder.mask(text, isCut),
      isSecretKey: finder.isSecretKey,
      onlyMasks: true,
    };
  }
  return {
    text: (text, field = 'detail', isCut = false) =>
      ask(redact, resolved.rules ? finder.mask(text, isCut) : text, field),
    isSecretKey: resolved.rules ? finder.isSecretKey : () => false,
    onlyMasks: false,
  };
}

function ask(redact: RedactFunction, text: string, field: string): string {
  try {
    const shown: unknown = redact(text, field);
    return typeof shown === 'string' ? shown : FAILED;
  } catch {
    return FAILED;
  }
}
