/** Takes secrets out of what is shown. */
import { type RedactFunction, type RedactOptions, resolveRedact } from './redact-options.ts';
import { createSecretFinder } from './secret-finder.ts';

/** Takes secrets out of what is shown. Never throws. */
export interface Redactor {
  /**
   * @param text JSON, a Python repr, a traceback, a sentence …
   * @param field where it is shown, for the host's own function. Default `detail`
   * @param isCut whether its end is missing: what may be the beginning of a secret there is masked, too
   */
  text(text: string, field?: string, isCut?: boolean): string;
  /** Whether a key names a secret. */
  isSecretKey(key: string): boolean;
  /**
   * Whether what is shown is the text itself with `***` in some places, perhaps in quotes: what is not in a
   * text is then not in what is shown either.
   */
  readonly onlyMasks: boolean;
}

/** What is shown when the host's function fails: it may have failed on a secret. */
const FAILED = '***';

/**
 * @param option as `createMonitorRouter({ redact })` takes it. Default: our own rules
 * @throws TypeError when the option is wrong
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
