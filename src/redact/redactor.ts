/** Takes secrets out of what is shown. */
import { type RedactFunction, type RedactOptions, resolveRedact } from './redact-options.ts';

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
  /** Whether what is shown is the text itself but for `***`: then what is not in a text is not in what is shown. */
  readonly onlyMasks: boolean;
}

/**
 * @param option as `createMonitorRouter({ redact })` takes it
 * @throws TypeError when the option is wrong
 */
export function createRedactor(option?: RedactOptions | RedactFunction | false): Redactor {
  resolveRedact(option);
  return { text: (text) => text, isSecretKey: () => false, onlyMasks: true };
}
